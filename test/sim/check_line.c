/* See check_line.h. */
#include "sim/check_line.h"

#include "redis/node.h"
#include "sim/plain.h"
#include "sim/world.h"

#define NEVER UINT64_MAX
#define SLACK_NS (20 * RL_NS_PER_MS)
#define INTENT_NS (4000 * RL_NS_PER_MS) /* a waiting writer keeps new readers out for this long */

static struct sim_check_line *line_of(struct sim_world *world) {
    return &world->check.line;
}

static uint32_t lines(const struct sim_world *world) {
    return world->options.permits > 0 ? 1 : world->options.resources;
}

/* -- Overtaking -- */

static bool is_sound(const struct sim_world *world, uint32_t client, uint32_t node) {
    bool listens = false;
    for (const struct sim_conn *conn = world->clients[client].conns; conn != NULL;
         conn = conn->next_open) {
        if (conn->node == node && !sim_conn_is_sound(conn)) {
            return false;
        }
        listens |= conn->node == node && conn->peer != NULL && conn->peer->n_channels > 0;
    }
    return listens;
}

bool sim_check_line_answers(const struct sim_world *world, uint32_t client, uint32_t node,
                            uint64_t since_ns) {
    const struct sim_check *check = &world->check;
    return world->clients[client].state == SIM_CLIENT_OPEN &&
           check->busy_until_ns[client] < since_ns && check->trouble_ns[client][node] < since_ns &&
           check->up_since_ns[client][node] <= since_ns && is_sound(world, client, node);
}

/* A user of this process that has waited for exactly this since then; NULL: none. */
static const struct sim_user *who_wants(const struct sim_client *client, uint32_t resource,
                                        uint32_t kind, uint64_t since_ns) {
    for (uint32_t i = 0; i < client->sim->options.locks; i++) {
        const struct sim_user *user = &client->users[i];
        bool wants = user->take > 0
                         ? user->take == kind + 1
                         : user->resources == 1u << resource && user->made_reads == (kind == 1);
        if (user->ops[SIM_OP_ACQUIRE] != NULL && wants && user->asked_ns <= since_ns) {
            return user;
        }
    }
    return NULL;
}

/* Another live client stands at another node. */
static bool has_other_line(struct sim_world *world, uint32_t node, uint32_t resource) {
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        for (uint32_t c = 0; c < world->options.clients && n != node; c++) {
            for (uint32_t kind = 0; kind < SIM_KINDS; kind++) {
                if (sim_check_line_standing(world, n, resource, c, kind)->since_ns != NEVER) {
                    return true;
                }
            }
        }
    }
    return false;
}

static uint32_t paid(struct sim_world *world, const struct sim_standing *it, uint32_t node,
                     uint32_t resource, uint32_t by) {
    const struct sim_check_line *line = line_of(world);
    uint32_t sum = line->missed[node][resource] - it->missed_before;
    for (uint32_t c = 0; c <= SIM_CLIENTS_MAX; c++) {
        uint32_t since = line->opened[resource][c] - it->opened_before[c];
        bool own = c == by && by < SIM_CLIENTS_MAX;
        sum += own && since > 1 ? 1 : since;
    }
    return sum;
}

/* Faults excuse more than this check can see: then overtaking is only counted. So do clients with
 * room for few requests: a client that finds home too busy does not use it. */
static bool is_promised(const struct sim_world *world) {
    enum sim_trouble trouble = world->options.trouble;
    return (trouble == SIM_TROUBLE_NONE || trouble == SIM_TROUBLE_PLAIN) &&
           world->options.requests_max >= RL_NODE_REQUESTS_MAX;
}

/* A reported grant. */
struct told {
    uint64_t asked_ns;
    unsigned turn_at;
    uint32_t client;
    uint32_t resource;
    uint32_t take; /* permits; 0: of no semaphore */
    bool reads;
    bool is_late; /* it reads, and came after a waiting writer */
};

/* A waiter has been overtaken more than `most` times. */
static void go_by(struct sim_world *world, const struct sim_standing *it, uint32_t node,
                  const struct told *told, uint32_t times, uint32_t most) {
    const struct sim_options *options = &world->options;
    const bool mixed =
        options->reader_percent > 0 &&
        (options->plain > 0 || options->several_percent > 0 || options->change_percent > 0);
    world->stats.overtaken++;
    world->stats.unpaid += times > most;
    if (times > most && is_promised(world) && !mixed) {
        sim_check_fail(
            world, SIM_ORDER,
            "c%u %s r%u (its turn was at %x); token %u stands for it at n%u for %.3f ms, "
            "was gone by %u times, and %u were paid for",
            (unsigned)told->client + 1, told->reads ? "reads" : "has", (unsigned)told->resource + 1,
            told->turn_at, sim_check_line_token(world, it->number), (unsigned)node + 1,
            (double)(world->now_ns - it->since_ns) / 1e6, (unsigned)times, (unsigned)most);
    }
}

/* A writer overtakes an earlier writer. */
static void overtake(struct sim_world *world, struct sim_standing *it, uint32_t node,
                     const struct told *told) {
    uint32_t most = paid(world, it, node, told->resource, told->client);
    go_by(world, it, node, told, ++it->overtaken, most);
}

/* A writer overtakes waiting readers: two of the present ones may. So may writers that have waited
 * longer, but came to home later. */
static void precede(struct sim_world *world, struct sim_standing *it, uint32_t node,
                    const struct told *told) {
    const struct sim_standing *its =
        sim_check_line_standing(world, node, told->resource, told->client, false);
    it->writers_before += told->asked_ns < it->since_ns && its->since_ns > it->since_ns;
    uint32_t most = 2 + paid(world, it, node, told->resource, told->client);
    uint32_t times = line_of(world)->writers[told->resource] - it->writers_before;
    go_by(world, it, node, told, times, most);
}

static uint64_t slack_ns(const struct sim_world *world) {
    return 2 * world->options.delay_max_ns + SLACK_NS;
}

/* Readers have refused the writer, and it has kept new ones out since then. A writer that joined
 * the line without asking for votes does not yet, nor does one that another holder refused. */
static bool keeps_out(const struct sim_world *world, const struct sim_standing *it, uint32_t of,
                      const struct told *told) {
    const struct sim_user *user =
        who_wants(&world->clients[of], told->resource, false, it->since_ns);
    const struct sim_reading *phase = &world->check.line.phases[told->resource];
    return user->attempt_ns > user->asked_ns &&
           user->attempt_ns > phase->since_ns + slack_ns(world) &&
           told->asked_ns > user->attempt_ns + 2 * slack_ns(world) &&
           world->now_ns < user->attempt_ns + INTENT_NS;
}

/* A reader must not overtake a waiting writer if it asked after the writer and after the phase
 * began. With a reader whose turn has come, all waiting readers of its client are granted. */
static void read_before(struct sim_world *world, const struct sim_standing *it, uint32_t node,
                        uint32_t of, struct told *told) {
    const struct sim_reading *phase = &line_of(world)->phases[told->resource];
    uint32_t writers = line_of(world)->writers[told->resource] - it->writers_before;
    uint32_t most = paid(world, it, node, told->resource, told->client);
    bool is_late = told->asked_ns > phase->since_ns + slack_ns(world) &&
                   told->asked_ns > it->since_ns + slack_ns(world);
    go_by(world, it, node, told, phase->count - it->phases_before, writers + 1 + most);
    told->is_late |= is_late;
    if (is_late && told->asked_ns > phase->turn_ns[told->client] &&
        keeps_out(world, it, of, told)) {
        go_by(world, it, node, told, 1, most);
    }
}

void sim_check_line_reads(struct sim_world *world, uint32_t resource) {
    line_of(world)->phases[resource].until_ns = world->now_ns;
}

/* A reader that asked while others read, or whose turn came with theirs, belongs to their phase,
 * even if they have ended before its grant is reported. */
static void begin_phase(struct sim_world *world, const struct sim_hold *hold,
                        const struct told *told) {
    struct sim_reading *phase = &line_of(world)->phases[told->resource];
    const uint32_t writers = line_of(world)->writers[told->resource];
    bool follows = world->check.tokens[hold->token].drawn_ns > phase->until_ns + slack_ns(world);
    if (!told->reads) {
        line_of(world)->writers[told->resource]++;
    } else if (phase->count == 0 || phase->writers != writers || follows) {
        *phase = (struct sim_reading){
            .count = phase->count + 1, .writers = writers, .since_ns = world->now_ns};
    }
    phase->until_ns = told->reads ? world->now_ns : phase->until_ns;
}

/* For permits: any client in the line, for any number. */
static void go_by_in_line(struct sim_world *world, uint32_t node, const struct told *told,
                          uint32_t c) {
    for (uint32_t kind = 0; kind < SIM_KINDS; kind++) {
        struct sim_standing *it = sim_check_line_standing(world, node, 0, c, kind);
        if (it->since_ns == NEVER || (c == told->client && told->take == kind + 1) ||
            told->asked_ns <= it->since_ns ||
            who_wants(&world->clients[c], 0, kind, it->since_ns) == NULL) {
            continue;
        }
        world->stats.passed++;
        if (sim_check_line_answers(world, c, node, it->since_ns)) {
            overtake(world, it, node, told);
        }
    }
}

static void go_by_at(struct sim_world *world, uint32_t node, struct told *told, uint32_t c) {
    if (told->take > 0) {
        go_by_in_line(world, node, told, c);
        return;
    }
    for (uint32_t reads = 0; reads < 2; reads++) {
        struct sim_standing *it =
            sim_check_line_standing(world, node, told->resource, c, reads == 1);
        bool is_one = it->since_ns != NEVER && (c != told->client || told->reads != (reads == 1));
        bool is_later = told->asked_ns > it->since_ns;
        if (!is_one || (!told->reads && reads == 0 && !is_later) || (told->reads && reads == 1) ||
            who_wants(&world->clients[c], told->resource, reads == 1, it->since_ns) == NULL) {
            continue;
        }
        world->stats.passed++;
        if (!sim_check_line_answers(world, c, node, it->since_ns)) {
            continue;
        }
        if (told->reads) {
            read_before(world, it, node, c, told);
        } else if (reads == 1) {
            precede(world, it, node, told);
        } else {
            overtake(world, it, node, told);
        }
    }
}

static uint32_t kind_of(uint32_t take, bool reads) {
    return take > 0 ? take - 1 : reads;
}

/* The locks of one client share its place, in the order in which they asked. */
static void check_own(struct sim_world *world, const struct told *told, uint32_t kind) {
    const struct sim_user *user =
        who_wants(&world->clients[told->client], told->resource, kind, told->asked_ns);
    const bool is_alone = told->take == 0 && !told->reads;
    if (is_promised(world) && is_alone && user != NULL && user->tries < 0 &&
        user->asked_ns < told->asked_ns) {
        sim_check_fail(world, SIM_ORDER, "c%u has r%u, which its lock %c wanted before",
                       told->client + 1u, (unsigned)told->resource + 1, "abcdef"[user->index]);
    }
}

static void granted(struct sim_world *world, const struct sim_hold *hold, struct told *told) {
    const uint32_t kind = kind_of(told->take, told->reads);
    check_own(world, told, kind);
    begin_phase(world, hold, told);
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        bool is_home =
            told->turn_at != 0 ? told->turn_at >> n & 1 : !has_other_line(world, n, told->resource);
        for (uint32_t c = 0; c < world->options.clients && is_home; c++) {
            go_by_at(world, n, told, c);
        }
        sim_check_line_standing(world, n, told->resource, told->client, kind)->since_ns = NEVER;
    }
    if (told->reads && !told->is_late) {
        line_of(world)->phases[told->resource].turn_ns[told->client] = world->now_ns;
    }
}

void sim_check_line_left(struct sim_world *world, uint32_t client, const struct sim_fact *fact) {
    const uint32_t kind = kind_of(fact->take, fact->reads);
    for (uint32_t r = 0; r < lines(world) && client < SIM_CLIENTS_MAX; r++) {
        uint64_t *left_ns = &line_of(world)->left_ns[r][client][kind];
        bool is_its = fact->resources >> r & 1 || fact->take > 0;
        *left_ns = is_its && fact->asked_ns < *left_ns ? fact->asked_ns : *left_ns;
    }
}

/* When it was requested; for a turn, when a user of the client that has given up meanwhile did so,
 * if that was earlier. */
static uint64_t came_ns(struct sim_world *world, uint32_t client, uint32_t resource, uint32_t kind,
                        uint64_t asked_ns, bool has_turn) {
    uint64_t *left_ns = &line_of(world)->left_ns[resource][client][kind];
    asked_ns = has_turn && *left_ns < asked_ns ? *left_ns : asked_ns;
    *left_ns = NEVER;
    return asked_ns;
}

void sim_check_line_grant(struct sim_world *world, uint32_t client, const struct sim_hold *hold,
                          uint64_t asked_ns) {
    bool is_of_one = (hold->resources & (hold->resources - 1)) == 0 || hold->take > 0;
    sim_check_line_served(world, hold->resources);
    if (client < SIM_CLIENTS_MAX && sim_options_has_lines(&world->options) && is_of_one) {
        for (uint32_t r = 0; r < lines(world); r++) {
            if (hold->resources >> r & 1 || hold->take > 0) {
                const uint32_t kind = kind_of(hold->take, hold->reads);
                const unsigned turn_at = world->check.tokens[hold->token].turn_at;
                granted(world, hold,
                        &(struct told){
                            .asked_ns = came_ns(world, client, r, kind, asked_ns, turn_at != 0),
                            .turn_at = turn_at,
                            .client = client,
                            .resource = r,
                            .take = hold->take,
                            .reads = hold->reads});
            }
        }
    }
}
