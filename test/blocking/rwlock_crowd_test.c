/* Many readers and writers: threads of one client, and processes; closing, freeing and forking
 * under their feet. */
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blocking/crew.h"
#include "child.h"
#include "live/readers.h"

#define CROWD 8
#define ROUNDS 20
#define PROCESSES 4
#define CHILD_SECONDS 120 /* a child that hangs is ended by its alarm */

static redlock_blocking *begin(struct live *live) {
    live_start(live, 5, NULL);
    return crew_open(live);
}

/* -- Threads -- */

/* Not atomic: the lock guards it, and a checker of races sees if it does not. */
struct pages {
    long left;
    long right;
    uint64_t fence;       /* of the writer that wrote them */
    atomic_int together;  /* readers inside */
    atomic_int torn;      /* looks that saw half of a change */
    atomic_int misplaced; /* fences below one before, or not above */
};

static void look_at_both(struct member *member) {
    struct pages *pages = member->data;
    atomic_fetch_add(&pages->together, 1);
    const long left = pages->left;
    live_block_until(redlock_now_ns() + LIVE_MS / 4);
    atomic_fetch_add(&pages->torn, left != pages->right);
    atomic_fetch_add(&pages->misplaced, redlock_rwlock_fence(member->rwlock) < pages->fence);
    atomic_fetch_sub(&pages->together, 1);
}

static void change_both(struct member *member) {
    struct pages *pages = member->data;
    const uint64_t fence = redlock_rwlock_fence(member->rwlock);
    pages->left++;
    live_block_until(redlock_now_ns() + LIVE_MS / 20);
    pages->right++;
    atomic_fetch_add(&pages->torn, atomic_load(&pages->together) != 0);
    atomic_fetch_add(&pages->misplaced, fence <= pages->fence);
    pages->fence = fence;
}

static void read_and_write(void *data) {
    struct member *member = data;
    for (int i = 0; i < ROUNDS && member->status == 0; i++) {
        const bool writes = (i + member->other) % 4 == 0;
        member->status = writes ? redlock_rwlock_wrlock(member->rwlock, LIVE_PATIENCE_MS)
                                : redlock_rwlock_rdlock(member->rwlock, LIVE_PATIENCE_MS);
        if (member->status == 0) {
            (writes ? change_both : look_at_both)(member);
            member->status = redlock_rwlock_unlock(member->rwlock);
        }
    }
}

static redlock_rwlock *fenced(redlock_blocking *blocking) {
    redlock_rwlock_options options = REDLOCK_RWLOCK_OPTIONS_INIT;
    options.fencing = 1;
    return crew_rwlock(blocking, "pages", &options);
}

static void read_and_write_in(redlock_blocking *blocking, redlock_rwlock *shared) {
    struct pages pages = {0};
    struct member members[CROWD] = {{0}};
    for (int i = 0; i < CROWD; i++) {
        members[i].rwlock = shared != NULL ? shared : fenced(blocking);
        members[i].data = &pages;
        members[i].other = i;
        crew_start(&members[i], read_and_write);
    }
    for (int i = 0; i < CROWD; i++) {
        crew_join(&members[i]);
        LIVE_STATUS(members[i].status, 0);
        if (shared == NULL) {
            LIVE_STATUS(redlock_rwlock_free(members[i].rwlock), 0);
        }
    }
    assert_int_equal(pages.left, CROWD * ROUNDS / 4);
    assert_int_equal(pages.right, pages.left);
    assert_int_equal(atomic_load(&pages.torn), 0);
    assert_int_equal(atomic_load(&pages.misplaced), 0);
}

static void threads(void **state) {
    struct live *live = *state;
    redlock_blocking *blocking = begin(live);
    redlock_rwlock *rwlock = fenced(blocking);
    read_and_write_in(blocking, rwlock);
    read_and_write_in(blocking, NULL); /* each thread with an object of its own */
    LIVE_STATUS(redlock_rwlock_free(rwlock), 0);
    LIVE_POLL(live, live_no_keys(live));
    crew_end(live, blocking);
}

/* -- Processes -- */

/* Between processes: each step atomic by itself, the lock makes them one. */
struct board {
    atomic_int ready; /* children that read at this moment, all of them */
    atomic_int readers;
    atomic_int writers;
    atomic_int wrong;
    atomic_int written;
};

static void step_in(struct board *board, bool writes) {
    atomic_int *mine = writes ? &board->writers : &board->readers;
    const int before = atomic_fetch_add(mine, 1);
    atomic_fetch_add(&board->wrong, writes && before != 0);
    live_block_until(redlock_now_ns() + LIVE_MS / 2);
    atomic_fetch_add(&board->wrong, atomic_load(writes ? &board->readers : &board->writers) != 0);
    atomic_fetch_sub(mine, 1);
    atomic_fetch_add(&board->written, writes);
}

static _Noreturn void process(const struct live *live, struct board *board) {
    redlock_blocking *blocking = NULL;
    redlock_rwlock *rwlock = NULL;
    redlock_client_options options = live_options(live);
    alarm(CHILD_SECONDS);
    CHILD_CHECK(redlock_blocking_open(&blocking, &options) == 0);
    CHILD_CHECK(redlock_rwlock_new(blocking, "board", 5, NULL, &rwlock) == 0);
    CHILD_CHECK(redlock_rwlock_rdlock(rwlock, LIVE_PATIENCE_MS) == 0);
    atomic_fetch_add(&board->ready, 1);
    while (atomic_load(&board->ready) < PROCESSES) { /* none unlocks before all read */
        live_block_until(redlock_now_ns() + LIVE_MS);
    }
    CHILD_CHECK(redlock_rwlock_is_valid(rwlock));
    CHILD_CHECK(redlock_rwlock_unlock(rwlock) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        const bool writes = i % 4 == 0;
        CHILD_CHECK((writes ? redlock_rwlock_wrlock : redlock_rwlock_rdlock)(
                        rwlock, LIVE_PATIENCE_MS) == 0);
        step_in(board, writes);
        CHILD_CHECK(redlock_rwlock_unlock(rwlock) == 0);
    }
    CHILD_CHECK(redlock_rwlock_free(rwlock) == 0);
    CHILD_CHECK(redlock_blocking_close(blocking) == 0);
    _exit(0);
}

static void wait_for_child(pid_t pid) {
    int status = 0;
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) != 0) {
        print_error("the child's check in a line that is %d mod 250 failed\n",
                    WEXITSTATUS(status) - 1);
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void processes(void **state) {
    struct live *live = *state;
    pid_t pids[PROCESSES];
    struct board *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(board != MAP_FAILED);
    live_start(live, 5, NULL);
    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            process(live, board);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        wait_for_child(pids[i]);
    }
    assert_int_equal(atomic_load(&board->wrong), 0);
    assert_int_equal(atomic_load(&board->written), PROCESSES * ROUNDS / 4);
    LIVE_POLL(live, live_no_keys(live));
    assert_int_equal(munmap(board, sizeof *board), 0);
    crew_end(live, NULL);
}

/* -- Fork -- */

static _Noreturn void child(redlock_blocking *blocking, redlock_rwlock *held) {
    char text[REDLOCK_MESSAGE_MAX];
    redlock_rwlock *rwlock;
    alarm(CHILD_SECONDS);
    CHILD_CHECK(redlock_rwlock_is_valid(held) == 0);
    CHILD_CHECK(redlock_rwlock_remaining_ms(held) == 0);
    CHILD_CHECK(redlock_rwlock_rdlock(held, 1000) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_rwlock_try_wrlock(held) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_rwlock_unlock(held) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_rwlock_extend(held, 0) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_rwlock_downgrade(held) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_rwlock_try_upgrade(held) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_rwlock_token(held, text, sizeof text) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_rwlock_fence(held) == 0);
    redlock_rwlock_message(held, text, sizeof text);
    CHILD_CHECK(strcmp(text, redlock_strerror(REDLOCK_ERR_FORKED)) == 0);
    CHILD_CHECK(redlock_rwlock_new(blocking, "x", 1, NULL, &rwlock) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(rwlock == NULL);
    CHILD_CHECK(redlock_rwlock_free(held) == REDLOCK_ERR_FORKED);
    _exit(0);
}

/* Readers and writers are in the middle of calls; the parent's reader reads on. */
static void forked(void **state) {
    struct live *live = *state;
    struct member members[2] = {{0}};
    struct pages pages = {0};
    redlock_blocking *blocking = begin(live);
    redlock_rwlock *held = crew_rwlock(blocking, "held", NULL);
    LIVE_STATUS(redlock_rwlock_rdlock(held, 5000), 0);
    for (int i = 0; i < 2; i++) {
        members[i].rwlock = fenced(blocking);
        members[i].data = &pages;
        crew_start(&members[i], read_and_write);
    }
    for (int i = 0; i < 5; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            child(blocking, held);
        }
        wait_for_child(pid);
        assert_int_equal(redlock_rwlock_is_valid(held), 1);
    }
    for (int i = 0; i < 2; i++) {
        crew_join(&members[i]);
        LIVE_STATUS(members[i].status, 0);
        LIVE_STATUS(redlock_rwlock_free(members[i].rwlock), 0);
    }
    LIVE_STATUS(redlock_rwlock_unlock(held), 0);
    LIVE_STATUS(redlock_rwlock_free(held), 0);
    LIVE_POLL(live, live_no_keys(live));
    crew_end(live, blocking);
}

/* -- The end -- */

static void wait_to_read(void *data) {
    struct member *member = data;
    member->status = redlock_rwlock_rdlock(member->rwlock, REDLOCK_NO_LIMIT);
}

static void wait_to_write(void *data) {
    struct member *member = data;
    member->status = redlock_rwlock_wrlock(member->rwlock, REDLOCK_NO_LIMIT);
}

static void closed_while_threads_wait(void **state) {
    struct live *live = *state;
    redlock_blocking *blocking = begin(live);
    redlock_rwlock *rwlock = crew_rwlock(blocking, "one", NULL);
    struct member members[CROWD] = {{0}};
    LIVE_STATUS(redlock_rwlock_wrlock(rwlock, 5000), 0);
    for (int i = 0; i < CROWD; i++) {
        members[i].rwlock = rwlock;
        crew_start(&members[i], i % 2 == 0 ? wait_to_read : wait_to_write);
    }
    LIVE_POLL(live, crew_stats(blocking).waiting == CROWD);
    LIVE_STATUS(redlock_rwlock_free(rwlock), REDLOCK_ERR_BUSY);
    LIVE_STATUS(redlock_blocking_close(blocking), 0);
    assert_int_equal(redlock_rwlock_is_valid(rwlock), 0);
    for (int i = 0; i < CROWD; i++) {
        crew_join(&members[i]);
        LIVE_STATUS(members[i].status, REDLOCK_ERR_CANCELED);
    }
    LIVE_STATUS(redlock_rwlock_rdlock(rwlock, 5000), REDLOCK_ERR_CLOSED);
    LIVE_STATUS(redlock_rwlock_downgrade(rwlock), REDLOCK_ERR_CLOSED);
    LIVE_STATUS(redlock_rwlock_unlock(rwlock), REDLOCK_ERR_CLOSED);
    LIVE_STATUS(redlock_rwlock_free(rwlock), 0);
    LIVE_POLL(live, live_no_keys(live));
    crew_end(live, NULL);
}

/* Looks at what it reads, again and again, until it has not been valid for long. */
static void read_until_closed(void *data) {
    struct member *member = data;
    char token[REDLOCK_TOKEN_LENGTH + 1];
    member->status = redlock_rwlock_rdlock(member->rwlock, LIVE_PATIENCE_MS);
    atomic_store(&member->stage, 1);
    for (int after = 0; after < 1000; after += !redlock_rwlock_is_valid(member->rwlock)) {
        member->other += redlock_rwlock_remaining_ms(member->rwlock) < 0;
        member->other += redlock_rwlock_token(member->rwlock, token, sizeof token) != 0;
    }
}

static void closed_while_threads_read(void **state) {
    struct live *live = *state;
    redlock_blocking *blocking = begin(live);
    redlock_rwlock *rwlock = crew_rwlock(blocking, "one", NULL);
    struct member members[CROWD] = {{0}};
    for (int i = 0; i < CROWD; i++) {
        members[i].rwlock = rwlock;
        crew_start(&members[i], read_until_closed);
    }
    for (int i = 0; i < CROWD; i++) {
        LIVE_POLL(live, atomic_load(&members[i].stage) == 1);
    }
    LIVE_STATUS(redlock_blocking_close(blocking), 0);
    for (int i = 0; i < CROWD; i++) {
        crew_join(&members[i]);
        LIVE_STATUS(members[i].status, 0);
        assert_int_equal(members[i].other, 0); /* its token is there until it is freed */
    }
    LIVE_STATUS(redlock_rwlock_free(rwlock), 0);
    LIVE_POLL(live, live_no_keys(live));
    crew_end(live, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST(threads),
        LIVE_TEST(processes),
        LIVE_TEST(forked),
        LIVE_TEST(closed_while_threads_wait),
        LIVE_TEST(closed_while_threads_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
