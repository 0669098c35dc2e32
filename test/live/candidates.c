/* See candidates.h. */
#include "live/candidates.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "redlock/election.h"

#define TICK_MS 20
#define STOOD_NS UINT64_C(300000000)

static void demand(bool truth, const char *what) {
    if (!truth) {
        perror(what);
        _exit(70);
    }
}

/* -- A candidate -- */

struct self {
    uv_loop_t loop;
    uv_signal_t signal;
    uv_timer_t tick;
    uv_timer_t again;
    uint64_t ticked_ns;
    redlock_client *client;
    redlock_election *election;
    int log;
    int index;
};

static void write_record(struct self *self, enum candidate_event event, int status) {
    struct candidate_record record;
    memset(&record, 0, sizeof(record)); /* its padding goes through the pipe too */
    record.at_ns = redlock_now_ns();
    record.event = event;
    record.index = self->index;
    record.status = status;
    record.fence = redlock_election_fence(self->election);
    demand(write(self->log, &record, sizeof(record)) == sizeof(record), "candidate: write");
}

/* To be called by whatever runs: the first of them after a stop says what it sees. */
static void look_at_clock(struct self *self) {
    uint64_t now_ns = redlock_now_ns();
    bool stood = now_ns - self->ticked_ns > STOOD_NS;
    self->ticked_ns = now_ns;
    if (stood) {
        write_record(self, CANDIDATE_WAKES, redlock_election_is_leader(self->election));
    }
}

static void on_elected(redlock_election *election, int status, void *data) {
    (void)status;
    look_at_clock(data);
    write_record(data, CANDIDATE_ELECTED, redlock_election_is_leader(election));
}

static void on_lost(redlock_election *election, int status, void *data) {
    (void)election;
    look_at_clock(data);
    write_record(data, CANDIDATE_LOST, status);
}

static void on_again(uv_timer_t *timer) {
    struct self *self = timer->data;
    redlock_election_campaign(self->election);
    write_record(self, CANDIDATE_CAMPAIGNS, 0);
}

/* Who campaigns again at once is elected again at once. */
static void on_resigned(redlock_election *election, int status, void *data) {
    struct self *self = data;
    (void)election;
    write_record(self, CANDIDATE_RESIGNED, status);
    uv_timer_start(&self->again, on_again, CANDIDATE_AGAIN_MS, 0);
}

static void on_signal(uv_signal_t *signal, int number) {
    struct self *self = signal->data;
    (void)number;
    write_record(self, CANDIDATE_RESIGNS, 0);
    redlock_election_resign(self->election, on_resigned, self);
}

static void on_tick(uv_timer_t *tick) {
    look_at_clock(tick->data);
}

static void candidate_main(const struct candidates *c, int index) {
    struct self self = {.log = c->log[1], .index = index};
    redlock_client_options client = REDLOCK_CLIENT_OPTIONS_INIT;
    redlock_election_options election = REDLOCK_ELECTION_OPTIONS_INIT;
    client.nodes = c->urls;
    client.n_nodes = c->n_urls;
    client.guard = REDLOCK_GUARD_OFF; /* fresh nodes, as in live.h */
    election.name = CANDIDATE_NAME;
    election.name_length = strlen(CANDIDATE_NAME);
    election.ttl_ms = c->ttl_ms;
    election.poll_ms = c->poll_ms;
    election.fencing = 1;
    election.on_elected = on_elected;
    election.on_lost = on_lost;
    election.data = &self;
    demand(uv_loop_init(&self.loop) == 0, "candidate: uv_loop_init");
    demand(redlock_client_open(&self.client, &self.loop, &client, NULL, NULL) == 0, "candidate");
    demand(redlock_election_new(self.client, &election, &self.election, NULL, 0) == 0, "candidate");
    demand(redlock_election_campaign(self.election) == 0, "candidate");
    uv_signal_init(&self.loop, &self.signal);
    uv_timer_init(&self.loop, &self.tick);
    uv_timer_init(&self.loop, &self.again);
    self.signal.data = self.tick.data = self.again.data = &self;
    self.ticked_ns = redlock_now_ns();
    uv_signal_start(&self.signal, on_signal, SIGUSR1);
    uv_timer_start(&self.tick, on_tick, TICK_MS, TICK_MS);
    uv_run(&self.loop, UV_RUN_DEFAULT);
}

/* -- Their parent -- */

static void check_fence(struct candidates *c, const struct candidate_record *record) {
    if (record->event == CANDIDATE_ELECTED) {
        demand(record->fence > c->fence, "candidates: a fence that is not the largest");
        c->fence = record->fence;
    }
}

void candidates_start(struct candidates *c, const char *const *urls, size_t n_urls, int64_t ttl_ms,
                      int64_t poll_ms) {
    memset(c, 0, sizeof(*c));
    c->urls = urls;
    c->n_urls = n_urls;
    c->ttl_ms = ttl_ms;
    c->poll_ms = poll_ms;
    demand(pipe(c->log) == 0, "candidates: pipe");
}

void candidates_spawn(struct candidates *c, int index) {
    pid_t parent = getpid();
    demand(index >= 0 && index < CANDIDATES_MAX && c->pid[index] == 0, "candidates: index");
    fflush(NULL);
    pid_t pid = fork();
    demand(pid >= 0, "candidates: fork");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) {
            candidate_main(c, index);
        }
        _exit(0);
    }
    c->pid[index] = pid;
}

bool candidates_wait(struct candidates *c, enum candidate_event event, int index,
                     struct candidate_record *record) {
    uint64_t end_ns = redlock_now_ns() + UINT64_C(1000000) * CANDIDATES_PATIENCE_MS;
    struct pollfd log = {.fd = c->log[0], .events = POLLIN};
    while (redlock_now_ns() < end_ns) {
        if (poll(&log, 1, 100) != 1) {
            continue;
        }
        demand(read(c->log[0], record, sizeof(*record)) == sizeof(*record), "candidates: read");
        check_fence(c, record);
        if (record->event == event && (index == CANDIDATE_ANY || index == record->index)) {
            return true;
        }
    }
    return false;
}

void candidates_resign(const struct candidates *c, int index) {
    demand(kill(c->pid[index], SIGUSR1) == 0, "candidates: kill");
}

void candidates_stop(const struct candidates *c, int index) {
    demand(kill(c->pid[index], SIGSTOP) == 0, "candidates: kill");
}

void candidates_continue(const struct candidates *c, int index) {
    demand(kill(c->pid[index], SIGCONT) == 0, "candidates: kill");
}

uint64_t candidates_kill(struct candidates *c, int index) {
    uint64_t now_ns = redlock_now_ns();
    demand(kill(c->pid[index], SIGKILL) == 0, "candidates: kill");
    demand(waitpid(c->pid[index], NULL, 0) == c->pid[index], "candidates: waitpid");
    c->pid[index] = 0;
    return now_ns;
}

void candidates_end(struct candidates *c) {
    for (int i = 0; i < CANDIDATES_MAX; i++) {
        if (c->pid[i] != 0) {
            candidates_kill(c, i);
        }
    }
    close(c->log[0]);
    close(c->log[1]);
}
