/* System calls and functions of libuv and hiredis that fail on demand, each time or once, while the
 * client works. In a program that is linked with call_hook.c, wrappers replace the real ones, also
 * in its shared libraries (hiredis, libuv).
 *
 * Never made to fail: epoll_ctl() outside uv_poll_init(), because libuv aborts when it fails there;
 * read() and the like on descriptors that are not the client's sockets (libuv's own).
 *
 * write(), writev() and send() without MSG_NOSIGNAL on a socket of the client can raise SIGPIPE:
 * they are counted, and so is socket() without SOCK_CLOEXEC. */
#ifndef FAIL_CALL_HOOK_H
#define FAIL_CALL_HOOK_H

#include "fail/scene.h"

enum call {
    CALL_SOCKET,
    CALL_CONNECT,
    CALL_SETSOCKOPT,
    CALL_GETSOCKOPT,
    CALL_SEND,
    CALL_READ,        /* read() or recv() */
    CALL_EPOLL_CTL,   /* adding, within uv_poll_init() */
    CALL_GETADDRINFO, /* in any thread */
    CALL_GETRANDOM,
    CALL_MMAP,
    CALL_MADVISE,
    CALL_UV_POLL_INIT,
    CALL_UV_POLL_START,
    CALL_UV_RANDOM, /* where no page for random bytes can be mapped */
    CALL_UV_GETADDRINFO,
    CALL_READER_CREATE, /* no memory for a connection's reader, */
    CALL_READER_FEED,   /* ... or for what it has to read */
    CALLS
};

#define CALL_END_OF_FILE 0 /* as an error of CALL_READ */

struct call_hook {
    bool inside;         /* calls count, and may fail */
    bool safe;           /* nothing may fail, in no thread */
    enum call call;      /* the call that fails */
    int error;           /* its error: an errno, an EAI_ of getaddrinfo(), a UV_ of libuv */
    size_t fail_at;      /* from 1; 0: never */
    bool and_later;      /* not only number fail_at, but all after it */
    size_t send_most;    /* send() takes no more bytes at once; 0: as many as it likes */
    size_t read_most;    /* the same for read() */
    int sockets_most;    /* not below 0: number of sockets at which descriptors run out */
    size_t count[CALLS]; /* while inside */
    size_t struck;       /* calls that failed */
    bool without_page;   /* madvise() refuses all advice */
    size_t writes;       /* that could have raised SIGPIPE */
    size_t inheritable;  /* sockets that an exec() would pass on */
    size_t mapped;       /* bytes that the client has mapped and not given back */
};

extern struct call_hook call_hook;

/* Resets: nothing fails, all counts are 0. */
void call_hook_reset(void);

/* For scene_options.now_in. */
void call_hook_now_in(enum scene_where where);

#endif /* FAIL_CALL_HOOK_H */
