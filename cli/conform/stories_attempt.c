/* See stories_attempt.h. */
#include "conform/stories_attempt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TTL 8000
#define SAMPLES 10
#define VARYING_MIN 20 /* places; of hex digits, 80 bits */
#define ATTEMPTS 9
#define ATTEMPTS_MIN 6 /* to judge their pauses by */

static const char *value_on(struct rl_stage *s, int node) {
    const char *value = rl_stage_value(s, node);
    return value != NULL ? value : "";
}

/* In how many places the values differ. */
static int count_varying(char values[SAMPLES][RL_VALUE_MAX]) {
    int varying = 0;
    for (size_t i = 0; values[0][i] != '\0'; i++) {
        bool differs = false;
        for (int k = 1; k < SAMPLES && !differs; k++) {
            differs = strlen(values[k]) <= i || values[k][i] != values[0][i];
        }
        varying += differs;
    }
    return varying;
}

void rl_play_token(struct rl_stage *s) {
    char values[SAMPLES][RL_VALUE_MAX];
    for (int i = 0; i < SAMPLES; i++) {
        MUST(s, rl_stage_acquire(s, 0, KEY, TTL, 3), "A6", "not granted: \"%s\"",
             rl_stage_answer(s, 0)->line);
        snprintf(values[i], sizeof values[i], "%s", value_on(s, 2));
        rl_stage_release(s, 0, KEY);
        rl_stage_cleans(s, 0, RL_NODES, 1000);
        for (int k = 0; k < i; k++) {
            MUST(s, strcmp(values[i], values[k]) != 0, "A2",
                 "two acquires had one token, \"%.60s\": a late release of the first one ends the "
                 "second",
                 values[i]);
        }
    }
    const int varying = count_varying(values);
    MUST(s, varying >= VARYING_MIN, "A2",
         "of the tokens (\"%.60s\") %d characters change from one to the next; 20 random bytes, as "
         "40 hex digits, are asked for: two clients may draw the same, or guess it",
         values[SAMPLES - 1], varying);
}

struct seen { /* waits until so many attempts have come there */
    int node, attempts;
};

static bool has_seen(struct rl_stage *s, void *data) {
    const struct seen *seen = data;
    const struct rl_event *attempts[ATTEMPTS];
    return rl_stage_attempts(s, seen->node, attempts, ATTEMPTS) >= seen->attempts;
}

/* The first attempt meets another holder on nodes 3 to 5, the later ones on 4 and 5 alone. */
static bool play_second_try(struct rl_stage *s) {
    rl_stage_plant(s, 2, 3, OTHER, 60000);
    rl_stage_tell_acquire(s, 0, KEY, TTL, 6);
    for (int i = 2; i < RL_NODES; i++) {
        struct seen first = {i, 1};
        rl_stage_until(s, has_seen, &first, 3000);
    }
    rl_stage_uproot(s, 2, 1);
    return rl_stage_hear(s, 0);
}

void rl_play_fresh_token(struct rl_stage *s) {
    const struct rl_event *attempts[ATTEMPTS] = {NULL}, *set = NULL, *before = NULL;
    bool granted = play_second_try(s);
    int n = rl_stage_attempts(s, 0, attempts, ATTEMPTS);
    for (int i = 1; i < n && i < ATTEMPTS; i++) {
        MUST(s, strcmp(attempts[i]->value, attempts[i - 1]->value) != 0, "A2",
             "attempts %d and %d had one token: an answer or a release of the first, when it comes "
             "late, is taken for one of the second",
             i, i + 1);
    }
    for (size_t at = 0; (set = rl_stage_next(s, &at, RL_EVENT_SET, 0)) != NULL; before = set) {
        MUST(s, before == NULL || strcmp(set->value, before->value) != 0, "A2",
             "two attempts had one token");
    }
    MUST(s, granted, "A9",
         "one attempt was refused; with six it was not granted, though a quorum was free by then: "
         "\"%s\"",
         rl_stage_answer(s, 0)->line);
}

void rl_play_between_tries(struct rl_stage *s) {
    const struct rl_event *attempts[ATTEMPTS] = {NULL};
    bool granted = play_second_try(s);
    int n = rl_stage_attempts(s, 0, attempts, ATTEMPTS);
    for (int i = 1; i < n && i < ATTEMPTS; i++) {
        MUST(s, attempts[i]->held[0] == '\0' || strncmp(attempts[i]->held, "reserved", 8) == 0,
             "A8",
             "attempt %d found the key of attempt %d on node 1: what an attempt has set was not "
             "released before the next one, so the client stands in its own way, and in that of "
             "others",
             i + 1, i);
    }
    MUST(s, granted, "A9",
         "a quorum was free from the second attempt on, and none of six was "
         "granted: \"%s\"",
         rl_stage_answer(s, 0)->line);
}

void rl_play_tries(struct rl_stage *s) {
    const struct rl_event *attempts[1];
    rl_stage_plant(s, 0, RL_NODES, OTHER, 60000);
    MUST(s, !rl_stage_acquire(s, 0, KEY, TTL, 3), "A5", "granted what another holds");
    int n = rl_stage_attempts(s, 0, attempts, 1);
    MUST(s, n <= 3, "A9", "three attempts were allowed, and node 1 has seen %d", n);
    MUST(s, n > 0, "A4", "node 1 was not asked");
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n) {
    qsort(values, (size_t)n, sizeof *values, compare);
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

void rl_play_pauses(struct rl_stage *s) {
    const struct rl_event *attempts[ATTEMPTS] = {NULL};
    double pauses_ms[ATTEMPTS], off_ms[ATTEMPTS];
    rl_stage_plant(s, 0, RL_NODES, OTHER, 60000);
    MUST(s, !rl_stage_acquire(s, 0, KEY, TTL, ATTEMPTS), "A5", "granted what another holds");
    int n = rl_stage_attempts(s, 0, attempts, ATTEMPTS);
    n = n < ATTEMPTS ? n : ATTEMPTS;
    if (n < ATTEMPTS_MIN) {
        return; /* it does not ask again and again: it waits in another way */
    }
    for (int i = 0; i + 1 < n; i++) {
        pauses_ms[i] = (double)(attempts[i + 1]->at_ns - attempts[i]->at_ns) / 1e6;
    }
    const double middle_ms = median(pauses_ms, n - 1);
    for (int i = 0; i + 1 < n; i++) {
        off_ms[i] = pauses_ms[i] > middle_ms ? pauses_ms[i] - middle_ms : middle_ms - pauses_ms[i];
    }
    MUST(s, middle_ms >= 5, "A9",
         "it tries again after %.1f ms: two clients that were refused meet again at once, and load "
         "the nodes",
         middle_ms);
    /* A machine that stands still now and then makes some of them longer. */
    qsort(off_ms, (size_t)n - 1, sizeof *off_ms, compare);
    const double spread_ms = off_ms[n - 4];
    MUST(s, spread_ms >= middle_ms * 0.04, "A9",
         "its pauses are all alike (%.1f ms, all but two within %.1f ms of that): clients that "
         "split the votes once split them again and again",
         middle_ms, spread_ms);
}
