/* The exit statuses of redlock(1). Scripts rely on them: they are part of the interface, and the
 * manual lists them. Those from 64 on are from <sysexits.h>, those from 126 on are a shell's.
 *
 * `run` and `elect -- COMMAND` end with the command's own status when nothing went wrong, so a
 * command should leave 64 to 78 alone. */
#ifndef RL_CLI_EXITS_H
#define RL_CLI_EXITS_H

enum rl_exit {
    RL_EXIT_OK = 0,
    RL_EXIT_HELD = 1,       /* another client has it; -E changes this status. redlock status: it is
                               free. redlock set: a change is pending, was not confirmed, or ended
                               otherwise */
    RL_EXIT_WARNINGS = 1,   /* doctor: also, too few nodes vote for strict clients yet. set show:
                               nodes differ */
    RL_EXIT_ERRORS = 2,     /* doctor */
    RL_EXIT_USAGE = 64,     /* a bad option, key, number, duration or URL; no nodes given; --permits
                               differs from the number in use */
    RL_EXIT_NO_QUORUM = 69, /* too few nodes answered */
    RL_EXIT_SYSTEM = 71,    /* no memory, no process, no random bytes */
    RL_EXIT_LOST = 75,      /* the lock was lost, or the token is not there any more */
    RL_EXIT_CONFIG = 78,    /* the configuration file or the password file cannot be used */
    RL_EXIT_CANNOT_RUN = 126,
    RL_EXIT_NOT_FOUND = 127,
    RL_EXIT_SIGNAL = 128 /* plus the signal's number */
};

#endif
