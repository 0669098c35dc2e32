/* A place in line (core/place.h), told in stories (stories.h): the files line_*.txt. A story begins
 * with three nodes that may be home, and at which the client is heard; they are called 0, 1 and 2
 * in the order in which they are home. Times are in ms since then. The events:
 *
 *     with homes=02 heard=- idle=9 random=0.5 many
 *                                    what the next events bring; many: of several resources
 *     want unwant take won           as they are called in core/place.h
 *     nodes homes=12 heard=0         as "with", and then the event
 *     yes; no rank=2 life=500; nothing
 *                                    the answer to a JOIN of the place, or of place=7
 *     turn pass heir                 home, or another node, says so of the place, or of place=7
 *     refused life=60                other clients' keys are in the way
 *     tick                           at the time that the line named; "@5 tick": at that time
 *     trust 0; use; use given        rl_place_trust(), rl_place_use()
 *     note others; note nobody; note own
 *     signs                          what is known of others, now
 *
 * The effects are the state, if it is another one; what the driver has to do, with the node and the
 * place; and of the line's data, what has changed. */
#include "core/place.h"

#include "core/home.h"
#include "core_names.h"
#include "unit/stories.h"

#define START_NS (7000 * MS)
#define NODES 3u
#define RESOURCE UINT64_C(0x5eed)

struct world {
    struct rl_place place;
    uint64_t now_ns, idle_ns, random;
    uint64_t places; /* number of places that were used */
    rl_mask homes, heard;
    bool is_of_many;
};

static const uint64_t hashes[NODES] = {11, 22, 33};
static uint32_t order[NODES]; /* the nodes in the order in which they are home */

static void begin(void *data) {
    struct world *w = data;
    rl_mask left = rl_all_nodes(NODES);
    *w = (struct world){.now_ns = START_NS, .idle_ns = 30000 * MS, .homes = left, .heard = left};
    for (uint32_t rank = 0; rank < NODES; rank++) {
        order[rank] = rl_home_node(RESOURCE, hashes, left);
        left &= ~(UINT32_C(1) << order[rank]);
    }
}

static uint32_t rank_of(uint32_t node) {
    uint32_t rank = 0;
    while (rank < NODES - 1 && order[rank] != node) {
        rank++;
    }
    return rank;
}

static uint32_t ranked(const char *text) {
    const uint32_t ranks = nodes_of(text);
    uint32_t nodes = 0;
    for (uint32_t rank = 0; rank < NODES; rank++) {
        nodes |= (ranks >> rank & 1) << order[rank];
    }
    return nodes;
}

/* -- Effects -- */

static void tells_actions(struct effects *effects, const struct rl_place *place,
                          const struct rl_place_actions *out) {
    if (out->leave) {
        tells(effects, ", leave %s%llu at %u", out->leave_line ? "the line as " : "",
              (unsigned long long)out->leave_place, (unsigned)rank_of(out->leave_home));
    }
    if (out->join) {
        tells(effects, ", join%s as %llu at %u", out->quiet ? " quietly" : "",
              (unsigned long long)place->id, (unsigned)rank_of(place->home));
    }
    tells(effects, "%s%s", out->turn ? ", turn" : "", out->alone ? ", alone" : "");
}

static void tells_flag(struct effects *effects, const char *name, bool before, bool now) {
    if (before != now) {
        tells(effects, ", %s%s", now ? "" : "not ", name);
    }
}

static void tells_time(struct effects *effects, const char *name, uint64_t ns) {
    tells(effects, ", %s ", name);
    if (ns == RL_NEVER) {
        tells(effects, "never");
    } else {
        tells_ms(effects, ns - START_NS);
    }
}

static void tells_data(struct effects *effects, const struct rl_place *before,
                       const struct rl_place *now) {
    if (now->id != 0 && before->since_ns != now->since_ns) {
        tells_time(effects, "since", now->since_ns);
    }
    if (rl_place_wake_ns(before) != rl_place_wake_ns(now)) {
        tells_time(effects, "wake", rl_place_wake_ns(now));
    }
    tells_flag(effects, "heir", before->is_heir, now->is_heir);
    tells_flag(effects, "probes", before->probes, now->probes);
    tells_flag(effects, "turned", before->turned, now->turned);
    tells_flag(effects, "given", before->given, now->given);
    tells_flag(effects, "used", before->used, now->used);
}

static void tells_all(struct effects *effects, const struct rl_place *before,
                      const struct rl_place *now, const struct effects *all) {
    const bool moves = before->state != now->state;
    if (moves || all->text[0] != '\0') {
        tells(effects, "%s%s%s\n", moves ? line_state_name(now->state) : "",
              moves && all->text[0] != '\0' ? ": " : "", all->text[0] != '\0' ? all->text + 2 : "");
    }
}

static void step(struct world *w, struct rl_place_event event, struct effects *effects) {
    const struct rl_place before = w->place;
    struct rl_place_actions out;
    struct effects all = {""};
    event.now_ns = w->now_ns;
    event.new_place = w->places + 1;
    event.timeout_ns = 50 * MS;
    event.idle_ns = w->idle_ns;
    event.random = w->random;
    event.is_of_one = !w->is_of_many;
    event.resource = RESOURCE;
    event.node_hashes = hashes;
    event.homes = w->homes;
    event.heard = w->heard;
    rl_place_step(&w->place, &event, &out);
    assert_true(event.type != RL_PLACE_EV_TICK || rl_place_wake_ns(&w->place) > w->now_ns);
    w->places += w->place.id == event.new_place;
    tells_actions(&all, &w->place, &out);
    tells_data(&all, &before, &w->place);
    tells_all(effects, &before, &w->place, &all);
}

/* -- Events -- */

static void with_event(struct world *w, const struct words *words) {
    w->homes = word_of(words, "homes") ? ranked(word_of(words, "homes")) : w->homes;
    w->heard = word_of(words, "heard") ? ranked(word_of(words, "heard")) : w->heard;
    w->idle_ns = number_of(words, "idle", w->idle_ns / MS) * MS;
    w->random = word_of(words, "random") ? ns_of(word_of(words, "random")) : w->random;
    w->is_of_many = w->is_of_many || has_word(words, "many");
}

static const char *const names[RL_PLACE_EVENT_TYPES] = {
    [RL_PLACE_EV_WANT] = "want",       [RL_PLACE_EV_UNWANT] = "unwant",
    [RL_PLACE_EV_NODES] = "nodes",     [RL_PLACE_EV_ANSWER] = "answer",
    [RL_PLACE_EV_TURN] = "turn",       [RL_PLACE_EV_PASS] = "pass",
    [RL_PLACE_EV_HEIR] = "heir",       [RL_PLACE_EV_TICK] = "tick",
    [RL_PLACE_EV_TAKE] = "take",       [RL_PLACE_EV_WON] = "won",
    [RL_PLACE_EV_REFUSED] = "refused",
};

static struct rl_place_event answer_of(const struct words *words, enum rl_place_said said,
                                       uint64_t place) {
    struct rl_place_event event = {.type = RL_PLACE_EV_ANSWER};
    event.u.answer = (struct rl_place_answer_in){.place = place,
                                                 .said = said,
                                                 .rank = (uint32_t)number_of(words, "rank", 0),
                                                 .life_ms = number_of(words, "life", 0)};
    return event;
}

static struct rl_place_event event_of(struct world *w, const struct words *words) {
    static const char *const answers[] = {"yes", "no", "nothing"};
    const char *name = words->word[0];
    const uint64_t own = w->place.id != 0 ? w->place.id : 99; /* a place that is not ours */
    const uint64_t place = number_of(words, "place", own);
    struct rl_place_event event = {.type = RL_PLACE_EVENT_TYPES};
    for (uint32_t said = 0; said < COUNT(answers); said++) {
        if (strcmp(name, answers[said]) == 0) {
            return answer_of(words, (enum rl_place_said)said, place);
        }
    }
    for (uint32_t type = 0; type < RL_PLACE_EVENT_TYPES; type++) {
        event.type = strcmp(name, names[type]) == 0 ? (enum rl_place_event_type)type : event.type;
    }
    assert_true(event.type != RL_PLACE_EVENT_TYPES);
    if (event.type == RL_PLACE_EV_WANT) {
        event.u.since_ns = w->now_ns;
    } else if (event.type == RL_PLACE_EV_REFUSED) {
        event.u.life_ms = number_of(words, "life", 0);
    } else {
        event.u.place = place;
    }
    return event;
}

static void signs_event(const struct world *w, struct effects *effects) {
    const struct rl_place *place = &w->place;
    tells(effects, "%s%s%s%s", rl_place_is_busy(place, w->now_ns) ? "busy" : "not busy",
          rl_place_is_likely_busy(place, w->now_ns) ? ", likely" : "",
          rl_place_was_busy(place) ? ", was" : "", rl_place_has_signs(place) ? "" : ", no signs");
}

/* Runs an event that is not a step, and tells its effects. Returns whether it is one. */
static bool is_other_event(struct world *w, const struct words *words, struct effects *effects) {
    struct rl_place *place = &w->place;
    const char *name = words->word[0];
    if (strcmp(name, "trust") == 0) {
        const uint32_t node = order[words->word[1][0] - '0'];
        tells(effects, "%s", rl_place_trust(place, node) ? "trusted" : "");
    } else if (strcmp(name, "use") == 0) {
        rl_place_use(place, has_word(words, "given"));
    } else if (strcmp(name, "note") == 0 && has_word(words, "own")) {
        rl_place_note_own(place, w->now_ns);
    } else if (strcmp(name, "note") == 0) {
        rl_place_note(place, has_word(words, "others"), w->now_ns);
    } else {
        return false;
    }
    return true;
}

static void event(void *world, const struct words *all, struct effects *effects) {
    struct world *w = world;
    struct words words = *all;
    const bool is_timed = words.word[0][0] == '@';
    if (is_timed) {
        w->now_ns = START_NS + ns_of(words.word[0] + 1);
        drop_word(&words);
    }
    const char *name = words.word[0];
    if (strcmp(name, "with") == 0) {
        with_event(w, &words);
    } else if (strcmp(name, "signs") == 0) {
        signs_event(w, effects);
    } else if (!is_other_event(w, &words, effects)) {
        const bool is_due = strcmp(name, "tick") == 0 && !is_timed;
        w->now_ns = is_due ? rl_place_wake_ns(&w->place) : w->now_ns;
        if (strcmp(name, "nodes") == 0) {
            with_event(w, &words);
        }
        step(w, event_of(w, &words), effects);
    }
}

int main(int argc, char **argv) {
    static struct world world, marked;
    const struct teller teller = {
        .world = &world, .marked = &marked, .size = sizeof world, .begin = begin, .event = event};
    return tell(argc, argv, &teller);
}
