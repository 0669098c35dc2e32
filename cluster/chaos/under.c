/* See under.h. */
#include "under.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "journal.h"

#define NAME_SIZE 32
#define SLOTS_SIZE 64
#define STEP_MS 5
#define NS_PER_MS UINT64_C(1000000)
#define OUTLASTS 16 /* one in this many works is longer than the ttl */
#define PIDS 1000000000u

struct under {
    struct chaos_journal journal;
    struct chaos_record record;
    char client[NAME_SIZE];
    char slots[SLOTS_SIZE];
};

static volatile sig_atomic_t is_ended;

static void end_cb(int number) {
    (void)number;
    is_ended = 1;
}

/* Records a validity until one step from now: it is alive, so the lock is valid now. */
static void note(struct under *under, const char *what) {
    under->record.t_ns = redlock_now_ns();
    under->record.valid_until_ns = under->record.t_ns + STEP_MS * NS_PER_MS;
    under->record.what = what;
    chaos_journal_act(&under->journal, &under->record);
}

/* "0 3" of five -> "0,3/5". False: too long to be valid. */
static bool write_slots(struct under *under, const char *slots, int64_t permits) {
    int length = snprintf(under->slots, sizeof under->slots, "%s/%" PRId64, slots, permits);
    if (length < 0 || (size_t)length >= sizeof under->slots) {
        return false;
    }
    for (char *space = strchr(under->slots, ' '); space != NULL; space = strchr(space, ' ')) {
        *space = ',';
    }
    return true;
}

static uint64_t length_ms(const struct chaos_settings *settings, uint64_t lot) {
    uint64_t work_ms = (uint64_t)settings->work_ms;
    uint64_t long_ms = lot % OUTLASTS == 0 ? (uint64_t)settings->ttl_ms * 3 / 2 : 0;
    return work_ms / 2 + lot / OUTLASTS % (work_ms + 1) + long_ms;
}

static void work(struct under *under, uint64_t ms) {
    uint64_t end_ns = redlock_now_ns() + ms * NS_PER_MS;
    note(under, "enter");
    while (!is_ended && redlock_now_ns() < end_ns) {
        poll(NULL, 0, STEP_MS);
        if (!is_ended) {
            note(under, "write");
        }
    }
    note(under, is_ended ? "lost" : "exit");
}

int chaos_under_run(const struct chaos_settings *settings) {
    struct under under = {.record = {.client = under.client, .slots = under.slots}};
    const char *slots = getenv("REDLOCK_SLOT");
    struct sigaction action = {.sa_handler = end_cb};
    under.record.resource = getenv("REDLOCK_KEY");
    under.record.token = getenv("REDLOCK_TOKEN");
    if (slots == NULL || under.record.resource == NULL || under.record.token == NULL ||
        !write_slots(&under, slots, settings->permits)) {
        fputs("redlock-chaos-client: --under: no permits in the environment\n", stderr);
        return 2;
    }
    sigaction(SIGTERM, &action, NULL);
    snprintf(under.client, sizeof under.client, "c%" PRId64 ".1", settings->process);
    under.record.sequence = (uint64_t)settings->process * PIDS + (uint64_t)getpid();
    chaos_journal_open_register(&under.journal, settings->dir);
    work(&under, length_ms(settings, under.record.sequence * UINT64_C(0x9e3779b97f4a7c15) >> 32));
    return 0;
}
