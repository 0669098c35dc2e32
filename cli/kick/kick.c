/* redlock kick: takes a lock, or a permit, from its holder.
 *
 *     look     who has it, by which token                               (targets.h)
 *     say      what it means; and ask, on a terminal
 *     note     on every node: who kicks whom, when and why               (note.c)
 *     release  on every node, by the token that was seen                 (targets.h)
 *     report   node by node; the note is withdrawn if nothing was there any more
 *
 *       node             key        note
 *       127.0.0.1:7001   deleted    noted
 *       127.0.0.1:7002   not there  noted
 *       127.0.0.1:7003   node did not answer in time; noted
 *
 * Failure modes: the kick is not confirmed: nothing is done. The holder released the lock
 * meanwhile, or another client has it: nothing is deleted (RL_EXIT_LOST). Nodes do not answer: they
 * keep their keys, and if they are a quorum, the holder may keep the lock, which is reported
 * (RL_EXIT_NO_QUORUM). A node cannot store the note (no memory left, a user without the right): it
 * is named, and the kick goes on, since it may free the node's memory. redlock is killed between
 * note and release: the note reports a kick that did not happen.
 *
 * Can a kick lead to two holders? Yes: the next client is granted the lock at once, and the kicked
 * holder finds out only at its next renewal, up to a third of its ttl later, or, if it reaches no
 * node, when its validity ends. Only a fence that is checked at each write keeps its late writes
 * out: its fence is below the next holder's.
 *
 * Can a holder other than the one that was seen lose the lock? No: nodes compare the token, see
 * targets.h.
 *
 * What stays behind? The other keys of a lock of several keys, until its holder has seen the loss.
 * A repair that was on its way when the kick came puts the token back on a minority of nodes: it is
 * removed when the holder notices the loss, or expires with its ttl; the next holder needs a quorum
 * of the other nodes, and gets it. The notes stay for a day. */
#include "commands.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kick/room.h"
#include "kick/targets.h"
#include "say.h"
#include "session/room.h"
#include "tool/json.h"

#define NODE_WIDTH_MAX 40

struct kick {
    struct rl_session session;
    struct rl_keys keys;
    struct rl_found found;
    struct rl_kick_targets targets;
    struct rl_kick_note note;
    rl_kick_why not_noted[REDLOCK_NODES_MAX]; /* why a node has not noted the kick */
};

/* The first client in line, or NULL. */
static const struct rl_item *next_of(const struct kick *kick) {
    const struct rl_part *line =
        kick->targets.items[0].slot >= 0 ? &kick->found.permits_line : &kick->found.line;
    return line->n > 0 ? &line->items[0] : NULL;
}

/* -- Before -- */

/* Says what the kick means for its holder. */
static void say_cost(const struct kick *kick, const char *key, const char *who) {
    const struct rl_kick_targets *targets = &kick->targets;
    const bool ends = targets->left_ms > 0;
    rl_say("%s: held by %s%s%s, on %zu of %zu nodes", key, who, ends ? " for another " : "",
           ends ? rl_say_ms(targets->left_ms) : "", targets->items[0].votes, kick->found.look.n);
    rl_say(
        "its holder is not notified: it finds out at its next renewal, within a third of its ttl.");
    rl_say("Until then both may write, and only a fence can keep the writes apart.");
    rl_say("Can it be stopped where it runs? Then do that instead: it releases the lock itself");
}

/* Says on stderr, before the kick, which holder loses the lock and what follows from that. */
static void show_meaning(const struct kick *kick) {
    const struct rl_kick_targets *targets = &kick->targets;
    const struct rl_look *look = &kick->found.look;
    const struct rl_item *place = next_of(kick);
    const char *key = look->shown, *who = rl_kick_targets_say(targets);
    if (strcmp(targets->what, "leftover") != 0) {
        say_cost(kick, key, who);
    } else if (look->is_answered) {
        rl_say("%s: no client has a quorum; %s is deleted", key, who);
    } else {
        rl_say(
            "%s: only %zu of %zu nodes answer (%zu needed): %s may hold it by the others, and then "
            "keeps it",
            key, look->answered, look->n, look->needed, who);
    }
    if (place != NULL) {
        rl_say("next in line is %s", rl_item_who(place));
    }
    if (targets->unlisted > 0) {
        rl_say("%zu more read it, who are not kicked by this: kick again behind it",
               targets->unlisted);
    }
}

/* -- Behind it -- */

static void add_node(const struct kick *kick, size_t index, struct rl_table *table) {
    const char *node = kick->found.look.node_holders[index].s.node;
    const redlock_node_outcome outcome = rl_kick_outcome(&kick->targets, node);
    const char *not_noted = kick->not_noted[index], *what = not_noted[0] != '\0' ? "not " : "";
    const char *why = not_noted[0] != '\0' ? ": " : "";
    if (outcome.vote == REDLOCK_VOTE_GRANTED || outcome.vote == REDLOCK_VOTE_REFUSED) {
        rl_table_row(table, "%s\t%s\t%s%snoted%s%s", node,
                     outcome.vote == REDLOCK_VOTE_GRANTED ? "deleted" : "not there",
                     not_noted[0] != '\0' ? RL_CELL_WARN : "", what, why, not_noted);
    } else {
        rl_table_row(table, "%s\t" RL_CELL_BAD "%s; %snoted%s%s", node,
                     outcome.vote == REDLOCK_VOTE_FAILED ? redlock_strerror(outcome.reason)
                                                         : "no answer in time",
                     what, why, not_noted);
    }
}

static void print_screen(const struct kick *kick, enum rl_kick_verdict verdict) {
    const struct rl_look *look = &kick->found.look;
    const struct rl_item *place = next_of(kick);
    const char *who = rl_kick_targets_say(&kick->targets);
    struct rl_table table = {.heads = "node\tkey      \tnote", .indent = 2, .max = NODE_WIDTH_MAX};
    size_t noted = 0;
    for (size_t i = 0; i < look->n; i++) {
        add_node(kick, i, &table);
        noted += kick->not_noted[i][0] == '\0';
    }
    rl_table_print(&table);
    printf("\n%s: ", look->shown);
    if (verdict == RL_KICK_DONE) {
        printf("%s %s kicked", who, kick->targets.n == 1 ? "was" : "were");
        if (place != NULL) {
            printf("; next in line was %s", rl_item_who(place));
        }
        printf("%s\n", noted == 0 ? ". No node has noted it: write it down elsewhere" : "");
    } else if (verdict == RL_KICK_GONE) {
        printf("%s did not hold it any more: nothing was kicked, and nothing is noted\n", who);
    } else {
        printf(
            "not known whether %s was kicked: too few nodes answer. If they answer its holder, it "
            "keeps the lock, and gives it back to the others. Kick again when they are back\n",
            who);
    }
}

static void print_json(const struct kick *kick, enum rl_kick_verdict verdict) {
    static const char *const verdicts[] = {"ERR_LOST", "OK", "ERR_NO_QUORUM"};
    const struct rl_look *look = &kick->found.look;
    const struct rl_item *place = next_of(kick);
    struct tool_json json = tool_json_begin(
        stdout, JSON_BYTES("key", look->key.data, look->key.length),
        JSON_TEXT("status", verdicts[verdict]), RL_KICK_NOTE_JSON(&kick->note),
        JSON_INT("count", kick->targets.n),
        JSON_TEXT("next", place != NULL && place->who[0] != '\0' ? place->who : NULL));
    tool_json_open(&json, "nodes", '[');
    for (size_t i = 0; i < look->n; i++) {
        const redlock_node_outcome outcome =
            rl_kick_outcome(&kick->targets, look->node_holders[i].s.node);
        const bool is_answered =
            outcome.vote == REDLOCK_VOTE_GRANTED || outcome.vote == REDLOCK_VOTE_REFUSED;
        tool_json_object(
            &json, NULL, JSON_TEXT("node", look->node_holders[i].s.node),
            JSON_KNOWN(is_answered, BOOL, "deleted", outcome.vote == REDLOCK_VOTE_GRANTED),
            JSON_TEXT("status", redlock_err_name(is_answered ? 0
                                                 : outcome.vote == REDLOCK_VOTE_FAILED
                                                     ? outcome.reason
                                                     : REDLOCK_ERR_NODE_TIMEOUT)),
            JSON_BOOL("noted", kick->not_noted[i][0] == '\0'));
    }
    tool_json_end(&json);
}

#define NAME_MAX_BYTES 64 /* of a user name, and of a host name */

/* -- Arguments -- */

static int check(struct kick *kick, const struct rl_args *args) {
    if (args->reason == NULL) {
        return rl_usage(
            "kick: why? --reason TEXT is noted on the nodes for a day, for those who look at the "
            "lock later");
    }
    const char *why = rl_kick_note_check_reason(args->reason);
    if (why != NULL) {
        return rl_usage("--reason: %s", why);
    }
    why = rl_keys_parse(&kick->keys, args->words[0]);
    if (why != NULL) {
        return rl_usage("KEY: %s", why);
    }
    if (kick->keys.count != 1) {
        return rl_usage("kick: one lock at a time; in a key write \\, for a comma");
    }
    if (!args->yes && (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))) {
        return rl_usage("kick: there is no terminal to ask on; give --yes if it is meant");
    }
    return 0;
}

/* -- Who kicks -- */

static void put_name(char *out, size_t size, const char *name) {
    snprintf(out, size, "%.*s", NAME_MAX_BYTES - 1, name[0] != '\0' ? name : "?");
    for (char *at = out; *at != '\0'; at++) {
        *at = *at > ' ' && *at <= '~' ? *at : '?';
    }
}

/* user@host; under sudo, the user who called it. */
static void set_by(char out[RL_KICK_BY_MAX]) {
    char user[NAME_MAX_BYTES], host[NAME_MAX_BYTES], name[256] = "";
    uv_passwd_t entry = {0};
    const char *sudo = getenv("SUDO_USER");
    const bool has_sudo = geteuid() == 0 && sudo != NULL && sudo[0] != '\0';
    const bool has_entry = uv_os_get_passwd(&entry) == 0;
    put_name(user, sizeof user, has_sudo ? sudo : has_entry ? entry.username : "");
    if (has_entry) {
        uv_os_free_passwd(&entry);
    }
    if (gethostname(name, sizeof name - 1) != 0) {
        name[0] = '\0';
    }
    put_name(host, sizeof host, name);
    snprintf(out, RL_KICK_BY_MAX, "%s@%s", user, host);
}

static void set_note(struct kick *kick, const struct rl_args *args) {
    const struct rl_kick_targets *targets = &kick->targets;
    struct rl_kick_note *note = &kick->note;
    const bool is_one = targets->n == 1;
    memset(note, 0, sizeof *note);
    note->at_ms = rl_when_now_ms();
    set_by(note->by);
    snprintf(note->what, sizeof note->what, "%s", targets->what);
    snprintf(note->token, sizeof note->token, "%s", is_one ? targets->items[0].token.digits : "");
    snprintf(note->holder, sizeof note->holder, "%s", is_one ? targets->items[0].token.holder : "");
    snprintf(note->reason, sizeof note->reason, "%s", args->reason);
}

/* -- Asking -- */

/* Asks for confirmation. The loop runs meanwhile, so that Ctrl-C works. */
static bool is_confirmed(struct kick *kick, const char *key) {
    struct rl_session *session = &kick->session;
    struct pollfd polled[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                              {.fd = uv_backend_fd(&session->loop), .events = POLLIN}};
    fprintf(stderr, "Kick %s from %s? [y/N] ", rl_kick_targets_say(&kick->targets),
            rl_text_clean(key, 128));
    for (;;) {
        uv_run(&session->loop, UV_RUN_NOWAIT); /* after each wait: it may notice a signal */
        if (session->caught != 0 || polled[0].revents != 0) {
            break;
        }
        poll(polled, 2, uv_backend_timeout(&session->loop));
    }
    if (session->caught != 0) {
        fprintf(stderr, "\n");
    }
    return session->caught == 0 && rl_say_is_yes();
}

/* -- The kick -- */

/* Finds the holders. Returns 0 or an exit status. */
static int look(struct kick *kick) {
    static const struct rl_found_parts parts = {.readers = true, .line = true, .permits = true};
    int exit_status = rl_ask_key(&kick->session, &kick->found, kick->keys.items[0], parts);
    return exit_status != 0
               ? exit_status
               : rl_kick_targets_choose(&kick->targets, &kick->found, kick->session.args);
}

static int kick_it(struct kick *kick, struct rl_args *args) {
    const char *key = args->words[0];
    int exit_status = look(kick);
    if (exit_status != 0) {
        return exit_status;
    }
    show_meaning(kick);
    const bool is_meant = args->yes || is_confirmed(kick, key);
    if (kick->session.caught != 0) {
        return RL_EXIT_SIGNAL + kick->session.caught;
    }
    if (!is_meant) {
        return rl_fail(RL_EXIT_HELD, "nothing was done");
    }
    set_note(kick, args);
    rl_kick_notes_write(args, &kick->found.look, &kick->note, kick->not_noted);
    exit_status = rl_kick_release(&kick->session, key, &kick->targets);
    if (exit_status != 0) {
        return exit_status;
    }
    const enum rl_kick_verdict verdict = rl_kick_verdict(&kick->targets, &kick->found.look);
    if (verdict == RL_KICK_GONE) {
        rl_kick_notes_withdraw(args, kick->keys.items[0], &kick->note);
    }
    if (args->json) {
        print_json(kick, verdict);
    } else {
        print_screen(kick, verdict);
    }
    rl_output_flush();
    return verdict == RL_KICK_DONE   ? RL_EXIT_OK
           : verdict == RL_KICK_GONE ? RL_EXIT_LOST
                                     : RL_EXIT_NO_QUORUM;
}

int rl_cmd_kick(struct rl_args *args) {
    struct kick *kick = rl_must_alloc(1, sizeof *kick);
    int exit_status = check(kick, args);
    exit_status = exit_status == 0 ? rl_session_open(&kick->session, args) : exit_status;
    if (exit_status == 0) {
        exit_status = kick_it(kick, args);
        rl_session_close(&kick->session, exit_status);
    }
    rl_keys_free(&kick->keys);
    rl_found_free(&kick->found);
    free(kick);
    return exit_status;
}
