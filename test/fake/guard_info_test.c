/* INFO, as a node of five may answer it to a client with a guard: refused, cut, huge, endless,
 * late, garbage, in the wrong place. The node is not used, and its reason is reported; the others
 * grant as if it were not there, the loop does not stall, memory is bounded; and once it answers as
 * Redis does it is used again. */

#include "fake/five.h"
#include "messages.h"

#define REPLID "fedcba9876543210fedcba9876543210fedcba98"

static bool votes_again(struct five *f, void *data) {
    return five_stats(f).nodes_voting == FIVE;
}

/* -- Replies that are not INFO -- */

#define MISSING \
    "in INFO, which the guard needs, run_id is missing; is it Redis? or set guard to off"

static const struct {
    const char *bytes;
    int reason;
    const char *detail;
} answers[] = {
    {"-NOPERM this user has no permissions to run the 'info' command\r\n",
     REDLOCK_ERR_NODE_PERMISSION, "the guard needs INFO: allow +info or set guard to off"},
    {"-ERR unknown command 'INFO', with args beginning with: \r\n", REDLOCK_ERR_NODE_ERROR,
     "the guard needs INFO: do not rename it, or set guard to off"},
    {"-LOADING Redis is loading the dataset in memory\r\n", REDLOCK_ERR_NODE_LOADING,
     "LOADING Redis is loading the dataset in memory"},
    {"+OK\r\n", REDLOCK_ERR_NODE_PROTOCOL, MISSING},
    {"$0\r\n\r\n", REDLOCK_ERR_NODE_PROTOCOL, MISSING},
    {"$-1\r\n", REDLOCK_ERR_NODE_PROTOCOL, "unexpected reply"},
    {"*1\r\n$2\r\nOK\r\n", REDLOCK_ERR_NODE_PROTOCOL, NULL},
    {"HTTP/1.1 400 Bad Request\r\n\r\n", REDLOCK_ERR_NODE_PROTOCOL, NULL},
};

FIVE_EACH(does_not_use_who_does_not_answer_it, COUNT(answers)) {
    struct fake_rule rule = {
        .command = "INFO", .action = FAKE_INSTEAD, .bytes = answers[row].bytes};
    f->options.guard = REDLOCK_GUARD_STRICT;
    fake_node_rule(f->nodes[1], rule);
    fake_node_rule(f->nodes[3], rule);
    assert_int_equal(five_open(f), 0);
    redlock_node_info info = five_info(f, 1);
    assert_int_equal(info.up, 0);
    assert_int_equal(info.reason, answers[row].reason);
    if (answers[row].detail != NULL) {
        assert_string_equal(info.detail, answers[row].detail);
        assert_contains(CLIENT_MESSAGE(f->client), answers[row].detail);
    }
    five_cycle(f);
    fake_node_clear_rules(f->nodes[1]);
    fake_node_clear_rules(f->nodes[3]);
    assert_true(five_run_until(f, votes_again, NULL));
    five_cycle(f);
}

/* With the guard off, a node that forbids INFO votes, and so does one that evicts keys. */
FIVE_TEST(judges_nobody_when_it_is_off) {
    assert_int_equal(f->options.guard, REDLOCK_GUARD_OFF);
    five_rule(f, 1, .command = "INFO", .action = FAKE_INSTEAD, .bytes = answers[0].bytes);
    server_set_info(fake_node_server(f->nodes[2]), "maxmemory", "1000000");
    server_set_info(fake_node_server(f->nodes[2]), "maxmemory_policy", "allkeys-lru");
    assert_int_equal(five_open(f), 0);
    five_wait_up(f, FIVE);
    assert_int_equal(five_stats(f).nodes_voting, FIVE);
    five_cycle(f);
}

/* A clock that was set back puts a server in quarantine, but not for ever. */
FIVE_TEST(does_not_wait_for_ever_for_a_clock) {
    f->options.guard = REDLOCK_GUARD_STRICT;
    f->options.max_ttl_ms = 100;
    server_set_info(fake_node_server(f->nodes[2]), "uptime_in_seconds", "-86400");
    assert_int_equal(five_open(f), 0);
    assert_int_equal(five_info(f, 2).reason, REDLOCK_ERR_NODE_RECENTLY_STARTED);
    assert_true(five_run_until(f, votes_again, NULL));
}

/* -- Size and time -- */

/* A bulk of this length with all fields at its end. */
static char *big(size_t length) {
    static const char fields[] =
        "\r\nrun_id:00000000000000000000000000000000000000ff\r\nmaster_replid:" REPLID
        "\r\nuptime_in_seconds:1000000\r\nrole:master\r\nloading:0\r\naof_enabled:1\r\n"
        "maxmemory:0\r\nmaxmemory_policy:noeviction\r\n";
    char *text = malloc(length + 32);
    size_t head = (size_t)snprintf(text, 32, "$%zu\r\n", length);
    memset(text + head, 'x', length);
    memcpy(text + head + length - strlen(fields), fields, strlen(fields));
    memcpy(text + head + length, "\r\n", 3);
    return text;
}

static const struct {
    size_t length;
    bool is_taken;
} lengths[] = {{5000, true}, {60000, true}, {400000, false}};

FIVE_EACH(takes_a_long_one_and_bounds_a_huge_one, COUNT(lengths)) {
    char *text = big(lengths[row].length);
    f->options.guard = REDLOCK_GUARD_STRICT;
    five_rule(f, 0, .command = "INFO", .action = FAKE_INSTEAD, .bytes = text);
    fake_node_set_fragment(f->nodes[0], 4096);
    assert_int_equal(five_open(f), 0);
    five_wait_up(f, lengths[row].is_taken ? 5 : 4);
    assert_int_equal(five_info(f, 0).reason, lengths[row].is_taken ? 0 : REDLOCK_ERR_NODE_PROTOCOL);
    five_cycle(f);
    free(text);
}

static const struct fake_rule ways[] = {
    {.action = FAKE_CLOSE},
    {.action = FAKE_RESET},
    {.action = FAKE_EXECUTE_CLOSE},
    {.action = FAKE_EXECUTE_RESET},
    {.action = FAKE_CUT},
    {.action = FAKE_ENDLESS, .bytes = "$2000000000\r\n"},
    {.action = FAKE_ENDLESS, .bytes = "$5000\r\nrun_id:"},
    {.action = FAKE_IGNORE},
    {.action = FAKE_ANSWER, .delay_ms = 50},
    {.action = FAKE_ANSWER, .delay_ms = 400},
};

FIVE_EACH(survives_every_way_to_break_it, COUNT(ways)) {
    struct fake_rule rule = ways[row];
    rule.command = "INFO";
    rule.times = 2;
    f->options.guard = REDLOCK_GUARD_STRICT;
    f->options.connect_timeout_ms = 200;
    fake_node_rule(f->nodes[0], rule);
    fake_node_rule(f->nodes[4], rule);
    assert_int_equal(five_open(f), 0);
    five_cycle(f);
    assert_true(five_run_until(f, votes_again, NULL));
    five_cycle(f);
}

/* The text of INFO in the answer to another command has no effect. */
FIVE_TEST(reads_it_only_where_it_is_due) {
    char *text = big(1000);
    f->options.guard = REDLOCK_GUARD_STRICT;
    five_rule(f, 0, .command = "CLIENT", .action = FAKE_REPLACE, .bytes = text);
    server_set_info(fake_node_server(f->nodes[0]), "role", "slave");
    assert_int_equal(five_open(f), 0);
    assert_int_equal(five_info(f, 0).reason, REDLOCK_ERR_NODE_READONLY);
    free(text);
}

/* -- Identities -- */

static bool are_settled(struct five *f, void *data) {
    redlock_stats stats = five_stats(f);
    return stats.nodes_up == FIVE && stats.pending_releases == 0;
}

/* The node shows the run_id that another one has. */
static void show_id_of(struct five *f, size_t node, size_t whose) {
    char run_id[41];
    snprintf(run_id, sizeof(run_id), "%040zx", whose + 1);
    server_set_info(fake_node_server(f->nodes[node]), "run_id", run_id);
}

/* The last node shows the first one's identity, and all five are up. */
static void open_with_twins(struct five *f) {
    show_id_of(f, 4, 0);
    assert_int_equal(five_open(f), 0);
    five_wait_up(f, 5);
    assert_int_equal(five_info(f, 0).reason, REDLOCK_ERR_DUPLICATE);
}

/* With a quorum of servers opening succeeds, and the message names the duplicate. */
FIVE_TEST(counts_the_same_server_once) {
    char wanted[160];
    f->options.guard = REDLOCK_GUARD_OBSERVED;
    open_with_twins(f);
    assert_int_equal(five_stats(f).nodes_voting, 4);
    assert_int_equal(five_info(f, 4).reason, REDLOCK_ERR_DUPLICATE);
    assert_int_equal(five_info(f, 1).reason, 0);
    snprintf(wanted, sizeof(wanted),
             "%s and %s report that they are the same server: they have one vote",
             fake_node_name(f->nodes[0]), fake_node_name(f->nodes[4]));
    assert_contains(CLIENT_MESSAGE(f->client), wanted);
    for (int i = 0; i < 10; i++) {
        five_cycle(f);
        assert_int_equal(five_acquire(f, f->lock), 0);
        assert_true(five_run_until(f, are_settled, NULL));
        int yes = (five_outcome(f, 0).vote == REDLOCK_VOTE_GRANTED) +
                  (five_outcome(f, 4).vote == REDLOCK_VOTE_GRANTED);
        assert_true(yes <= 1);
        assert_int_equal(five_release(f, f->lock), 0);
    }
    show_id_of(f, 4, 0xaa); /* of no node */
    fake_node_drop(f->nodes[4], true);
    five_wait_down(f, 4, 1, REDLOCK_ERR_NODE_DISCONNECTED);
    five_wait_up(f, 5);
    assert_int_equal(five_info(f, 4).reason, REDLOCK_ERR_NODE_RESTARTED);
    /* Node 0 reconnects first and votes. Node 4 is in quarantine, and remains its duplicate. */
    fake_node_drop(f->nodes[0], true);
    five_wait_node(f, 0, false);
    five_wait_node(f, 0, true);
    assert_int_equal(five_info(f, 0).reason, REDLOCK_ERR_DUPLICATE);
}

/* A node with a new identity is a duplicate until its quarantine ends; then both vote. */
FIVE_TEST(twins_part_when_the_quarantine_is_over) {
    f->options.guard = REDLOCK_GUARD_OBSERVED;
    f->options.max_ttl_ms = 200;
    open_with_twins(f);
    show_id_of(f, 4, 0xaa); /* of no node */
    fake_node_drop(f->nodes[4], true);
    five_wait_down(f, 4, 1, REDLOCK_ERR_NODE_DISCONNECTED);
    five_wait_up(f, 5);
    assert_int_equal(five_info(f, 0).reason, REDLOCK_ERR_DUPLICATE);
    assert_true(five_run_until(f, votes_again, NULL));
    assert_int_equal(five_info(f, 0).reason, 0);
    assert_int_equal(five_info(f, 4).reason, 0);
}

/* The last node now shows another run_id, and its quarantine ends while it is disconnected. */
static void change_while_away(struct five *f) {
    fake_node_drop(f->nodes[4], true);
    five_wait_node(f, 4, false);
    five_wait_node(f, 4, true);
    assert_int_equal(five_info(f, 4).reason, REDLOCK_ERR_NODE_RESTARTED);
    fake_node_refuse(f->nodes[4]);
    fake_node_drop(f->nodes[4], true);
    five_wait_node(f, 4, false);
    five_run_ms(f, 300);
    fake_node_listen(f->nodes[4]);
    five_wait_node(f, 4, true);
}

/* A node that shows the others' identities in turn is, when it votes, a duplicate of the last one
 * only, even if it was disconnected when its quarantine ended. Otherwise its yes could replace
 * those of three nodes. */
FIVE_TEST(takes_the_place_of_one) {
    f->options.guard = REDLOCK_GUARD_OBSERVED;
    f->options.max_ttl_ms = 200;
    open_with_twins(f);
    for (unsigned i = 1; i < 3; i++) {
        show_id_of(f, 4, i);
        change_while_away(f);
        for (unsigned j = 0; j < 4; j++) {
            assert_int_equal(five_info(f, j).reason, j == i ? REDLOCK_ERR_DUPLICATE : 0);
        }
    }
    for (size_t i = 0; i < 4; i++) {
        five_rule(f, i, .command = "SET", .delay_ms = 20);
    }
    redlock_acquire_options once = five_one_try(f);
    struct five_done done = {0};
    once.ttl_ms = 200;
    assert_int_equal(redlock_acquire(f->lock, &once, five_on_lock, &done), 0);
    assert_int_equal(five_wait(f, &done), 0);
    assert_int_equal(five_release(f, f->lock), 0);
    show_id_of(f, 4, 0xaa);
    change_while_away(f);
    assert_int_equal(five_stats(f).nodes_voting, 5);
}

static const char *const refusals[] = {"-ERR no\r\n", "$-1\r\n", "+OK\r\n"};

/* A node copies another's INFO and refuses or fails everything. It is up first, but the honest
 * node, which comes second, still votes; of these three nodes two are honest, so without its vote
 * nothing would be granted. */
FIVE_EACH(copy_of_another_shuts_nobody_out, COUNT(refusals)) {
    f->options.guard = REDLOCK_GUARD_OBSERVED;
    show_id_of(f, 0, 1);
    five_rule(f, 0, .command = "SET", .action = FAKE_INSTEAD, .bytes = refusals[row]);
    five_rule(f, 0, .command = "script", .action = FAKE_INSTEAD, .bytes = ":0\r\n");
    fake_node_refuse(f->nodes[1]);
    assert_int_equal(five_open_n(f, 3), 0);
    assert_int_equal(five_info(f, 0).up, 1);
    fake_node_listen(f->nodes[1]);
    five_wait_node(f, 1, true);
    assert_int_equal(five_stats(f).nodes_voting, 2);
    for (int j = 0; j < 10; j++) {
        five_cycle(f);
        assert_int_equal(five_acquire(f, f->lock), 0);
        assert_int_equal(five_extend(f, f->lock), 0);
        assert_int_equal(five_release(f, f->lock), 0);
    }
}
