/* Every event in every state of a place in line (core/line.h), as a table. */
#include "unit/line_scene.h"

/* -- The columns: the state before -- */

enum {
    OUT,
    LISTENING,
    JOINING,
    WAITING,
    TURN,
    TAKING,
    PASSED, /* taking, and home has not said that it knows */
    PAUSING,
    PROBING,
    PROBES,
    COLUMNS
};

static void begin(struct scene *s, int column) {
    switch (column) {
        case LISTENING:
            scene_start(s);
            s->heard = 0;
            scene_want(s);
            break;
        case JOINING:
            scene_start(s);
            scene_want(s);
            break;
        case WAITING:
            scene_waiting(s);
            break;
        case TURN:
            scene_turn(s);
            break;
        case TAKING:
            scene_taking(s);
            break;
        case PASSED:
            scene_passed(s);
            break;
        case PAUSING:
            scene_taking(s);
            scene_refuse(s, 0);
            break;
        case PROBING:
            scene_probing(s);
            break;
        case PROBES:
            scene_probing_taking(s);
            break;
        default:
            scene_start(s);
    }
}

/* -- The rows: what happens -- */

enum happening {
    WANT,
    UNWANT,
    SAME_NODES,
    HOME_GOES,
    HOME_IS_DEAF,
    NO_HOMES,
    ALL_HEARD,
    YES,
    NO,
    NO_HEIR,
    NOTHING,
    ANSWER_OF_ANOTHER,
    TOLD_TURN,
    TURN_OF_ANOTHER,
    TOLD_PASS,
    PASS_OF_ANOTHER,
    TOLD_HEIR,
    HEIR_OF_ANOTHER,
    TOO_EARLY,
    DUE,
    TAKE,
    WON,
    REFUSED,
    FAILED,
    HAPPENINGS
};

static void happens(struct scene *s, enum happening what) {
    const uint64_t place = s->line.place != 0 ? s->line.place : STRANGER;
    const uint32_t others = ALL_NODES & ~scene_bit(s, 0);
    static const enum rl_line_event_type plain[HAPPENINGS] = {
        [UNWANT] = RL_LINE_EV_UNWANT, [TOO_EARLY] = RL_LINE_EV_TICK,
        [TAKE] = RL_LINE_EV_TAKE,     [WON] = RL_LINE_EV_WON,
        [FAILED] = RL_LINE_EV_FAILED, [SAME_NODES] = RL_LINE_EV_NODES,
    };
    switch (what) {
        case WANT:
            scene_want(s);
            break;
        case HOME_GOES:
            scene_nodes(s, others, s->heard);
            break;
        case HOME_IS_DEAF:
            scene_nodes(s, ALL_NODES, s->heard & others);
            break;
        case NO_HOMES:
            scene_nodes(s, 0, s->heard);
            break;
        case ALL_HEARD:
            scene_nodes(s, ALL_NODES, ALL_NODES);
            break;
        case YES:
            scene_answer(s, place, RL_LINE_SAID_YES, 0, 0);
            break;
        case NO:
            scene_answer(s, place, RL_LINE_SAID_NO, 1, 100);
            break;
        case NO_HEIR:
            scene_answer(s, place, RL_LINE_SAID_NO, 0, 100);
            break;
        case NOTHING:
            scene_answer(s, place, RL_LINE_SAID_NOTHING, 0, 0);
            break;
        case ANSWER_OF_ANOTHER:
            scene_answer(s, STRANGER, RL_LINE_SAID_YES, 0, 0);
            break;
        case TOLD_TURN:
            scene_say(s, RL_LINE_EV_TURN, place);
            break;
        case TURN_OF_ANOTHER:
            scene_say(s, RL_LINE_EV_TURN, STRANGER);
            break;
        case TOLD_PASS:
            scene_say(s, RL_LINE_EV_PASS, place);
            break;
        case PASS_OF_ANOTHER:
            scene_say(s, RL_LINE_EV_PASS, STRANGER);
            break;
        case TOLD_HEIR:
            scene_say(s, RL_LINE_EV_HEIR, place);
            break;
        case HEIR_OF_ANOTHER:
            scene_say(s, RL_LINE_EV_HEIR, STRANGER);
            break;
        case DUE:
            if (rl_line_wake_ns(&s->line) != RL_NEVER) {
                s->now_ns = rl_line_wake_ns(&s->line);
            }
            scene_feed(s, RL_LINE_EV_TICK);
            break;
        case REFUSED:
            scene_refuse(s, 0);
            break;
        default:
            scene_feed(s, plain[what]);
    }
}

/* The state after it: out, listening, joining, waiting, turn, (ta)king, pausing; and what is to be
 * done: Join, or Quietly; Leave, or the line alone (i); Turn, Alone. "-": it cannot happen, and an
 * assertion says so; "?": nor can that, for home has not been asked. */
static const char *const table[HAPPENINGS][COLUMNS] = {
    /*             out   listening joining waiting turn taking passed pausing probing probes */
    [WANT] = {"jJ", "l", "j", "w", "t", "k", "k", "p", "t", "k"},
    [UNWANT] = {"o", "o", "oL", "oL", "oL", "o", "oi", "oL", "oL", "oL"},
    [SAME_NODES] = {"o", "l", "j", "w", "t", "k", "k", "p", "t", "k"},
    [HOME_GOES] = {"o", "l", "jJL", "jJL", "t", "k", "k", "jJL", "t", "k"},
    [HOME_IS_DEAF] = {"o", "l", "l", "l", "t", "k", "k", "l", "t", "k"},
    [NO_HOMES] = {"o", "oA", "oLA", "oLA", "t", "k", "k", "oLA", "t", "k"},
    [ALL_HEARD] = {"o", "jJ", "j", "w", "t", "k", "k", "p", "t", "k"},
    [YES] = {"o", "?", "tT", "tT", "t", "k", "k", "tT", "t", "k"},
    [NO] = {"o", "l", "w", "w", "t", "k", "k", "p", "t", "k"},
    [NO_HEIR] = {"o", "l", "w", "w", "t", "k", "k", "p", "t", "k"},
    [NOTHING] = {"o", "l", "jJL", "w", "t", "k", "k", "p", "t", "k"},
    [ANSWER_OF_ANOTHER] = {"o", "l", "j", "w", "t", "k", "k", "p", "t", "k"},
    [TOLD_TURN] = {"o", "l", "tT", "tT", "t", "k", "k", "tT", "t", "k"},
    [TURN_OF_ANOTHER] = {"o", "l", "j", "w", "t", "k", "k", "p", "t", "k"},
    [TOLD_PASS] = {"o", "l", "tT", "tT", "t", "k", "k", "tT", "t", "k"},
    [PASS_OF_ANOTHER] = {"o", "l", "j", "w", "t", "k", "k", "p", "t", "k"},
    [TOLD_HEIR] = {"o", "l", "j", "w", "t", "k", "k", "p", "t", "k"},
    [HEIR_OF_ANOTHER] = {"o", "l", "j", "w", "t", "k", "k", "p", "t", "k"},
    [TOO_EARLY] = {"o", "l", "j", "w", "t", "k", "k", "p", "t", "k"},
    [DUE] = {"o", "l", "jJL", "jJ", "t", "k", "k", "jJ", "t", "k"},
    [TAKE] = {"-", "-", "-", "-", "k", "-", "-", "-", "k", "-"},
    [WON] = {"-", "-", "-", "-", "-", "o", "oi", "-", "-", "oL"},
    [REFUSED] = {"-", "-", "-", "-", "-", "pQ", "pQi", "-", "-", "w"},
    [FAILED] = {"o", "o", "oL", "oL", "oL", "o", "oi", "oL", "oL", "oL"},
};

struct cell {
    int column;
    enum happening what;
};

static void run_cell(void *data) {
    const struct cell *cell = data;
    struct scene s;
    begin(&s, cell->column);
    happens(&s, cell->what);
}

static void show(const struct scene *s, char text[8]) {
    uint32_t did = scene_did(s);
    snprintf(text, 8, "%c%s%s%s%s%s%s", "oljwtkp"[s->line.state], did & DID_JOIN ? "J" : "",
             did & DID_QUIET ? "Q" : "", did & DID_LEAVE ? "L" : "",
             did & DID_LEAVE_LINE ? "i" : "", did & DID_TURN ? "T" : "",
             did & DID_ALONE ? "A" : "");
}

static void does_as_the_table_says(void **state) {
    (void)state;
    for (int column = 0; column < COLUMNS; column++) {
        for (int what = 0; what < HAPPENINGS; what++) {
            struct cell cell = {column, (enum happening)what};
            const char *wanted = table[what][column];
            struct scene s;
            char text[8];
            if (wanted[0] == '?') {
                continue;
            }
            if (wanted[0] == '-') {
                assert_true(dies(run_cell, &cell));
                continue;
            }
            begin(&s, column);
            happens(&s, cell.what);
            show(&s, text);
            if (strcmp(text, wanted) != 0) {
                print_error("column %d, row %d\n", column, what);
            }
            assert_string_equal(text, wanted);
        }
    }
}

/* The columns are what they are called. */
static void begins_as_the_table_says(void **state) {
    (void)state;
    static const char letters[] = "oljwtkkptk";
    for (int column = 0; column < COLUMNS; column++) {
        struct scene s;
        begin(&s, column);
        assert_int_equal("oljwtkp"[s.line.state], letters[column]);
        assert_int_equal(s.line.probes, column == PROBING || column == PROBES);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(begins_as_the_table_says),
        cmocka_unit_test(does_as_the_table_says),
    };
    return cmocka_run_group_tests_name("core_line_table", tests, NULL, NULL);
}
