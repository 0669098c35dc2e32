/* The commands: their names, what they take, and the texts of --help. The purpose and usage of each
 * command are written here; its options come from the table, so that none is missing. Each text
 * fits into 80 columns and 40 lines. */
#include "commands.h"

#include <limits.h>
#include <stdio.h>

#include "args.h"
#include "say.h"

static const char overview[] =
    "redlock: locks on a majority of independent Redis nodes.\n"
    "\n"
    "Usage: redlock COMMAND [options] ...\n"
    "\n"
    "  run KEY -- COMMAND    run a command while holding a lock\n"
    "  status KEY...         who holds a lock, or permits; who waits\n"
    "  queue KEY...          who waits for it, in which order\n"
    "  kick KEY              take a lock away from its holder\n"
    "  ls                    all locks of the nodes; top: the same, live\n"
    "  metrics               the nodes for Prometheus, once\n"
    "  doctor                check whether these nodes are fit for locks\n"
    "  set ...               nodes that know their set; replace them under load\n"
    "  acquire KEY           for scripts: take a lock, print its token\n"
    "  extend KEY TOKEN      for scripts: renew it\n"
    "  release KEY TOKEN     for scripts: give it back\n"
    "  elect NAME            campaign: one of several machines leads at a time\n"
    "  conform -- COMMAND    test another Redlock client against the rules\n"
    "\n"
    "redlock help COMMAND explains one of them; redlock help options lists those that\n"
    "all have: nodes, passwords, TLS, guard. man redlock explains everything.\n"
    "\n"
    "Try it on your own nodes:\n"
    "  export REDLOCK_NODES=redis://10.0.0.1,redis://10.0.0.2,redis://10.0.0.3\n"
    "  redlock doctor\n"
    "  redlock run --no-wait -E 0 nightly-report -- /usr/local/bin/report\n"
    "\n"
    "The last line, in the crontab of five machines, runs the report on one of\n"
    "them; on the others it exits at once with status 0.\n"
    "\n"
    "Exit status: 0 done; 1 another client has the lock; 64 wrong usage; 69 too few\n"
    "nodes answer; 71 system error; 75 the lock was lost; 78 bad configuration file.\n"
    "run and elect exit with the status of the command they ran.\n"
    "\n"
    "  --version, --help\n";

static const char common[] =
    "TIME is a number with a unit: 500ms, 10s, 5m, 2h, 1d.\n"
    "\n"
    "Without --nodes the nodes are those of REDLOCK_NODES, then of the configuration\n"
    "file: REDLOCK_CONFIG, ~/.config/redlock/redlock.conf or /etc/redlock.conf, the\n"
    "first that exists. Its lines are \"name = value\" with long names of options:\n"
    "  nodes = redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3\n";

const struct rl_command rl_commands[RL_CMDS] = {
    [RL_CMD_RUN] =
        {"run", 1, 1, RL_CHILD_MUST, RL_KEYS_LIST,
         "[options] KEY[,KEY...] -- COMMAND [argument...]",
         "Waits for the lock, runs COMMAND while holding and renewing it, and releases it\n"
         "when the last process of COMMAND's group has ended. If the lock is lost, the\n"
         "group gets SIGTERM and then SIGKILL before another client can get the lock.\n"
         "\n"
         "Examples:\n"
         "  redlock run --no-wait --at-least 5m -E 0 nightly -- report  # from cron\n"
         "  redlock run --repeat billing -- billing-daemon      # one active, others wait\n"
         "  redlock run db:eu,db:us -- ./migrate.sh             # two locks, or none\n",
         "COMMAND's environment has REDLOCK_KEY, _TOKEN, _VALID_MS, _FENCE and _SLOT.\n"
         "Exit status: COMMAND's; 1 held by another; 69 too few nodes; 75 lost; or others.\n"},
    [RL_CMD_ACQUIRE] =
        {"acquire", 1, 1, RL_CHILD_NONE, RL_KEYS_LIST, "[options] KEY[,KEY...]",
         "Acquires a lock, prints its token and exits; the lock lives until its ttl is\n"
         "over, or until it is released with the token; extend renews it. For scripts\n"
         "that cannot use redlock run: the lock is not renewed, and a loss is not\n"
         "reported. With --fence it prints the token, a space and the fence; with\n"
         "--permits the token begins with the slots, as in 0,3@...\n"
         "\n"
         "Example:\n"
         "  # with max-ttl = 5m in the configuration file\n"
         "  token=$(redlock acquire --ttl 5m --no-wait reindex) || exit 0\n"
         "  reindex-part 1 && redlock extend --ttl 5m reindex \"$token\" && reindex-part 2\n"
         "  redlock release reindex \"$token\"\n"
         "  grant=$(redlock acquire --fence reindex) || exit 0\n"
         "  token=${grant% *} fence=${grant#* }\n"
         "  token=$(redlock acquire --permits 5 uploads) && slot=${token%%@*}\n",
         "Exit status: 0 acquired; 1 another has it (-E changes it); 69 too few nodes\n"
         "answer.\n"},
    [RL_CMD_EXTEND] =
        {"extend", 1, 2, RL_CHILD_NONE, RL_KEYS_LIST, "[options] KEY[,KEY...] [TOKEN]",
         "Gives a lock that is held by TOKEN a new ttl, counted from now. TOKEN is what\n"
         "acquire printed; without it, REDLOCK_TOKEN is used. What was acquired with\n"
         "--shared or --permits is extended with the same. Prints nothing, except with\n"
         "--json or -v.\n"
         "\n"
         "Example:\n"
         "  redlock extend --ttl 20s reindex \"$token\" || exit 1\n",
         "Exit status: 0 extended; 75 the token no longer holds the lock: stop;\n"
         "69 too few nodes answer, the lock lives as long as it did before.\n"},
    [RL_CMD_RELEASE] =
        {"release", 1, 2, RL_CHILD_NONE, RL_KEYS_LIST, "[options] KEY[,KEY...] [TOKEN]",
         "Releases a lock that is held by TOKEN, which acquire printed; without it,\n"
         "REDLOCK_TOKEN is used. It never releases a lock of another holder. The token is\n"
         "enough, of readers and of permits too; extend needs --shared, --permits.\n"
         "\n"
         "Example:\n"
         "  redlock release reindex \"$token\"\n",
         "Exit status: 0 released; 75 the token no longer held it, so the work\n"
         "may have been unprotected; 69 too few nodes answer, its ttl will end it.\n"},
    [RL_CMD_STATUS] =
        {"status", 1, INT_MAX, RL_CHILD_NONE, RL_KEYS_MANY, "[options] KEY...",
         "Asks every node who holds or reads a lock and for how long, who has which permit\n"
         "of a semaphore, and who waits, in order; shows which nodes the guard keeps from\n"
         "voting, and until when. It changes nothing. The answer may be outdated when it\n"
         "is printed: scripts must use acquire instead.\n"
         "\n"
         "Examples:\n"
         "  redlock status nightly-report\n"
         "  redlock status --watch deploy db    # who gets it, who waits, as it happens\n"
         "  redlock status --watch --json deploy | jq .event\n",
         "Exit status: 0 each lock, or a permit, has a holder on a quorum of nodes; 1 one\n"
         "of them is free; 69 too few nodes answer. With --watch: 0.\n"},
    [RL_CMD_LS] =
        {"ls", 0, 0, RL_CHILD_NONE, RL_KEYS_NONE, "[options] (for one lock: redlock status KEY)",
         "Lists all locks of the nodes: who holds them, on how many nodes, their fence and\n"
         "since when, for how long they live, how many clients wait and for how long;\n"
         "semaphores, readers, what is left without a quorum, keys of other libraries; who\n"
         "was kicked in the last day. It reads every node once, in small steps, and\n"
         "changes nothing; what it shows may be over when it is printed.\n"
         "\n"
         "Examples:\n"
         "  redlock ls --waiting --sort longest     # who keeps others waiting?\n"
         "  redlock ls --prefix billing:\n"
         "  redlock ls --json | jq -c 'select(.kind == \"lock\" and .votes < .nodes)'\n",
         "Exit status: 0, whether there are locks or not; 69 too few nodes answer.\n"},
    [RL_CMD_TOP] =
        {"top", 0, 0, RL_CHILD_NONE, RL_KEYS_NONE, "[options]",
         "Shows what ls does, live, in a terminal, with the nodes above it: whether or\n"
         "when they vote, how fast they answer, how much they do.\n"
         "Keys: n, o, v, f, a, t, w and l sort by name, holder, votes, fence, age, time\n"
         "left, waiting and longest wait; W shows only what is waited for; arrows and page\n"
         "keys scroll; h hides the nodes; space refreshes; q ends it. For programs:\n"
         "redlock ls --json.\n"
         "\n"
         "Example:\n"
         "  redlock top --sort waiting\n",
         "Exit status: 0; 64 there is no terminal (redlock ls needs none).\n"},
    [RL_CMD_QUEUE] =
        {"queue", 1, INT_MAX, RL_CHILD_NONE, RL_KEYS_MANY, "[options] KEY...",
         "Lists who waits for a lock, or for permits of a semaphore: the place in line,\n"
         "what is wanted, for how long and since when, who, and whether the client still\n"
         "listens for its turn (\"gone\" if not: it will be skipped). It says which node\n"
         "keeps the line, and whether clients stand in line at another one. It changes\n"
         "nothing.\n"
         "\n"
         "Example:\n"
         "  redlock queue deploy\n",
         "Exit status: 0 clients wait for each of them; 1 nobody waits for one; 69 too few\n"
         "nodes answer.\n"},
    [RL_CMD_KICK] =
        {"kick", 1, 1, RL_CHILD_NONE, RL_KEYS_ONE, "[options] --reason TEXT KEY",
         "Takes a lock, or a permit, from a holder that is stuck and cannot be stopped\n"
         "where it runs. The holder finds out at its next renewal, within a third of its\n"
         "ttl. Until then the next client has the lock, too, and only a fence can keep\n"
         "their writes apart. On a terminal it asks first. It takes the lock from the\n"
         "holder that it has shown, never from a later one, and notes on the nodes for a\n"
         "day who did it, when and why; redlock status shows that.\n"
         "\n"
         "Examples:\n"
         "  redlock kick backup --reason 'web3 burnt, ticket 4711'\n"
         "  redlock kick uploads --slot 3 --yes --reason 'hangs since Monday'\n",
         "Exit status: 0 it was kicked; 1 nobody holds it, or it was not confirmed; 69 too\n"
         "few nodes answer, its holder may keep it; 75 that holder no longer\n"
         "has it: nothing was done.\n"},
    [RL_CMD_METRICS] =
        {"metrics", 0, 0, RL_CHILD_NONE, RL_KEYS_NONE, "[options]",
         "Prints metrics of the nodes in Prometheus's text format, once: whether they\n"
         "answer, whether or when they vote; round trips, clocks, memory, versions; how\n"
         "many locks are held, wanted, left over; how many clients wait. It reads every\n"
         "node in small steps and changes nothing. There is no server: a timer runs it,\n"
         "for the textfile collector of node_exporter. Metrics of programs come from the\n"
         "library. As JSON: redlock ls --json.\n"
         "\n"
         "Example:\n"
         "  redlock metrics >redlock.prom.new; mv redlock.prom.new redlock.prom\n",
         "Exit status: 0; 69 too few nodes answer: what is known is still printed, with\n"
         "redlock_node_up 0 for nodes that are down.\n"},
    [RL_CMD_ELECT] =
        {"elect", 1, 1, RL_CHILD_MAY, RL_KEYS_NONE, "[options] NAME [-- COMMAND [argument...]]",
         "Campaigns until it is ended: of all candidates for NAME one leads at a time.\n"
         "Another one follows within one ttl if the leader dies, and at once if it\n"
         "resigns (SIGINT, SIGTERM). Without COMMAND it prints the leader whenever that\n"
         "changes. With COMMAND it runs that while it leads, and terminates it when it no\n"
         "longer leads; when COMMAND ends by itself it resigns and exits with its status,\n"
         "or campaigns again with --repeat. With --fence COMMAND gets REDLOCK_FENCE.\n"
         "\n"
         "Examples:\n"
         "  redlock elect --id eu-1 dispatcher       # watch, and lead if elected\n"
         "  redlock elect --repeat dispatcher -- dispatcher --run\n",
         "Exit status: 128 + n after signal n, or as for run.\n"},
    [RL_CMD_SET] =
        {"set", 0, INT_MAX, RL_CHILD_NONE, RL_KEYS_NONE, "[options] SUBCOMMAND",
         "Makes the nodes a set, which knows its members, and changes them while locks are\n"
         "held and granted. Clients read the members from the nodes when they connect, so\n"
         "their own list is only where they begin to look.\n"
         "\n"
         "  init                   once: makes --nodes a set; --max-ttl: of all its locks\n"
         "  show                   what each node has; do all agree?\n"
         "  replace OLD NEW        one node by another\n"
         "  resize [NAME] URL...   to this list of nodes; NAME: of several sets\n"
         "  add-set NAME URL...    one more set: each lock belongs to one of them\n"
         "  remove-set NAME        one set less: its locks move to the others\n"
         "  resume                 go on with a change that has stopped; bring a node that\n"
         "                         was down, or lost its configuration, up to date\n"
         "  abort                  go back to the old nodes, unless the change was decided\n"
         "\n"
         "A change takes as long as the longest ttl, and asks first on a terminal. The\n"
         "user needs the clients' rights and CLIENT KILL. Connections are cut, and come\n"
         "back.\n"
         "\n"
         "Examples:\n"
         "  redlock set init --max-ttl 1m\n"
         "  redlock set replace --dry-run 10.0.0.3:6379 10.0.0.9:6379\n"
         "  redlock set resize --yes 10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4 10.0.0.5\n"
         "  redlock set add-set b 10.0.1.1 10.0.1.2 10.0.1.3\n",
         "Exit status: 0 done, or all agree; 1 nodes differ, a change is pending, it was\n"
         "not confirmed, or ended otherwise; 69 too few nodes answer: resume later.\n"},
    [RL_CMD_DOCTOR] =
        {"doctor", 0, 0, RL_CHILD_NONE, RL_KEYS_NONE, "[options]",
         "Checks every node for what an operator must know before trusting it with locks:\n"
         "is it reachable, a primary, persistent, safe from eviction; may this user do\n"
         "what is needed; is it one of the others under another name; does its clock\n"
         "agree; do fences, readers and semaphores work. Each finding comes with a remedy.\n"
         "On each node one random key is tried, and deleted again.\n"
         "\n"
         "Examples:\n"
         "  redlock doctor\n"
         "  redlock doctor --ttl 5m --json   # 5m: the longest ttl that you use\n"
         "  redlock doctor --fence           # fences are used, so they have to work\n"
         "  redlock doctor --acl app         # the line that makes the user app\n",
         "Exit status: 0 no warnings; 1 warnings; 2 errors: do not use the nodes\n"
         "like this.\n"},
};

void rl_help_show(enum rl_command_name command, const struct tool_options *options) {
    const struct rl_command *help = &rl_commands[command];
    printf("Usage: redlock %s %s\n\n%s\nOptions:\n", help->name, help->usage, help->text);
    tool_options_help(options, command);
    printf("TIME: 500ms, 10s, 5m, 2h, 1d. Nodes, passwords, TLS: redlock help options\n\n%s",
           help->more);
}

int rl_help_check_words(const struct rl_args *args) {
    const struct rl_command *command = &rl_commands[args->command];
    const char *name = command->name, *usage = command->usage;
    const bool has_child = args->child != NULL && args->child[0] != NULL;
    if (args->child != NULL && command->child == RL_CHILD_NONE) {
        return rl_usage("%s: it runs no command; leave -- out, or use redlock run", name);
    }
    if (args->n_words > command->words_max) {
        const char *word = args->words[command->words_max];
        return rl_usage("%s: \"%s\" is one argument too many; usage: redlock %s %s", name,
                        rl_text_clean(word, 64), name, usage);
    }
    if (args->n_words < command->words_min) {
        return rl_usage("%s: an argument is missing; usage: redlock %s %s", name, name, usage);
    }
    if (!has_child && (args->child != NULL || command->child == RL_CHILD_MUST)) {
        return rl_usage("%s: no command follows --; usage: redlock %s %s", name, name, usage);
    }
    return 0;
}

void rl_help_options(const struct tool_options *options) {
    printf("Options of all commands but conform:\n");
    tool_options_help(options, TOOL_COMMON);
    fputs(common, stdout);
}

void rl_help_overview(void) {
    fputs(overview, stdout);
}
