/* The texts of --help. What each command is for and how it is used is written here; its options
 * come from the table (args_table.c), so that none can be forgotten. Everything fits into 80
 * columns. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "args.h"

#define NAME_COLUMN 20

struct help {
    const char *usage;
    const char *text;
    const char *more; /* below the options */
};

static const char overview[] =
    "redlock: locks on a majority of independent Redis nodes.\n"
    "\n"
    "Usage: redlock COMMAND [options] ...\n"
    "\n"
    "  run KEY -- COMMAND    run a command while holding a lock; end it with it\n"
    "  status KEY...         who holds it, node by node\n"
    "  doctor                can these nodes be trusted with locks?\n"
    "  acquire KEY           for scripts: take a lock, print its token\n"
    "  extend KEY TOKEN      for scripts: renew it\n"
    "  release KEY TOKEN     for scripts: give it back\n"
    "  elect NAME            campaign: one of several machines leads at a time\n"
    "  redlock COMMAND --help explains one of them; man redlock explains all.\n"
    "\n"
    "Try, with the nodes of your own:\n"
    "  export REDLOCK_NODES=redis://10.0.0.1,redis://10.0.0.2,redis://10.0.0.3\n"
    "  redlock doctor\n"
    "  redlock run --no-wait -E 0 nightly-report -- /usr/local/bin/report\n"
    "\n"
    "The last line, in the crontab of five machines, runs the report on one of\n"
    "them: who comes second ends at once with status 0.\n"
    "\n"
    "Exit status: 0 done; 1 another has the lock; 64 wrong usage; 69 too few nodes\n"
    "answer; 71 the system refused; 75 the lock was lost; 78 bad configuration file.\n"
    "run and elect end with the status of the command they ran.\n"
    "\n"
    "  --version, --help\n";

#define FILES                                                                           \
    "Without --nodes the nodes are those of REDLOCK_NODES, then of the configuration\n" \
    "file: REDLOCK_CONFIG, ~/.config/redlock/redlock.conf or /etc/redlock.conf, the\n"  \
    "first that is there. Its lines are \"name = value\" with long names of options:\n" \
    "  nodes = redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3\n"

static const struct help helps[RL_CMDS] = {
    [RL_CMD_RUN] =
        {"run [options] KEY[,KEY...] -- COMMAND [argument...]",
         "Waits for the lock, runs COMMAND while holding it, renews it all the time,\n"
         "releases it and ends with COMMAND's exit status. If the lock is lost (nodes\n"
         "are gone, or this machine was suspended) COMMAND and all of its process group\n"
         "get SIGTERM and, after the grace, SIGKILL, before anybody else can have the\n"
         "lock.\n"
         "\n"
         "Examples:\n"
         "  redlock run --no-wait -E 0 nightly -- report --all  # cron job, five machines\n"
         "  redlock run --wait 10m deploy -- ./deploy.sh        # one at a time\n"
         "  redlock run --repeat billing -- billing-daemon      # one active, others wait\n"
         "  redlock run --fence invoices -- ./write             # uses REDLOCK_FENCE\n"
         "  redlock run db:eu,db:us -- ./migrate.sh             # two locks, or none\n"
         "  pg_dump app | redlock run backup -- upload          # stdin and stdout pass\n",
         "COMMAND finds REDLOCK_KEY, REDLOCK_TOKEN and REDLOCK_VALID_MS in its\n"
         "environment, with --fence also REDLOCK_FENCE. Signals are passed on to its\n"
         "process group; a second SIGINT kills it. The lock is held until the last\n"
         "process of the group has ended.\n"
         "A key with a comma in it: write \\, for the comma.\n"
         "\n"
         "Exit status: that of COMMAND (128 + n if signal n ended it; 126: cannot be\n"
         "run; 127: not found), or, of redlock itself:\n"
         "  1   another has the lock (-E changes it)   64  wrong usage\n"
         "  69  too few nodes answer                   71  the system refused\n"
         "  75  the lock was lost, COMMAND was ended   78  bad configuration file\n"},
    [RL_CMD_ACQUIRE] =
        {"acquire [options] KEY[,KEY...]",
         "Takes a lock, prints its token and ends; the lock lives until its ttl is over,\n"
         "or until somebody extends or releases it with the token. For scripts that\n"
         "cannot put their work behind redlock run: nobody renews it, nobody is told if\n"
         "it is lost. With --fence it prints the fence behind the token, with a space\n"
         "between.\n"
         "\n"
         "Example:\n"
         "  # with max-ttl = 5m in the configuration file\n"
         "  token=$(redlock acquire --ttl 5m --no-wait reindex) || exit 0\n"
         "  reindex-part 1 && redlock extend --ttl 5m reindex \"$token\" && reindex-part 2\n"
         "  redlock release reindex \"$token\"\n"
         "  grant=$(redlock acquire --fence reindex) || exit 0\n"
         "  token=${grant% *} fence=${grant#* }\n",
         "Exit status: 0 acquired; 1 another has it (-E changes it); 69 too few nodes\n"
         "answer.\n"},
    [RL_CMD_EXTEND] =
        {"extend [options] KEY[,KEY...] [TOKEN]",
         "Gives a lock that is held by TOKEN a new ttl, counted from now. TOKEN is what\n"
         "acquire printed; without it, REDLOCK_TOKEN is used. Prints nothing but with\n"
         "--json or -v.\n"
         "\n"
         "Example:\n"
         "  redlock extend --ttl 20s reindex \"$token\" || exit 1\n",
         "Exit status: 0 extended; 75 the lock is not held by this token any more: stop;\n"
         "69 too few nodes answer, the lock lives as long as it did before.\n"},
    [RL_CMD_RELEASE] =
        {"release [options] KEY[,KEY...] [TOKEN]",
         "Gives a lock back that is held by TOKEN, which acquire printed; without it,\n"
         "REDLOCK_TOKEN is used. It never takes away what another holds.\n"
         "\n"
         "Example:\n"
         "  redlock release reindex \"$token\"\n",
         "Exit status: 0 released; 75 it was not held by this token any more, so the\n"
         "work may have been unprotected; 69 too few nodes answer, its ttl will end it.\n"},
    [RL_CMD_STATUS] =
        {"status [options] KEY...",
         "Asks every node who holds a lock and how long, and shows which nodes the guard\n"
         "keeps from voting, until when. It changes nothing. What it tells is over when\n"
         "it is told: a script must not decide by it, only acquire decides.\n"
         "\n"
         "Example:\n"
         "  redlock status nightly-report\n",
         "Exit status: 0 a quorum of nodes has each lock for somebody; 1 one of them is\n"
         "free; 69 too few nodes answer.\n"},
    [RL_CMD_ELECT] =
        {"elect [options] NAME [-- COMMAND [argument...]]",
         "Campaigns until it is ended: of all who campaign under NAME one leads at a\n"
         "time, and another follows within one ttl if it dies, at once if it resigns\n"
         "(SIGINT, SIGTERM). Without COMMAND it prints who leads whenever that changes.\n"
         "With COMMAND it runs that while it leads, and ends it when it does not lead\n"
         "any more; when COMMAND ends by itself it resigns and ends with its status, or\n"
         "campaigns again with --repeat. With --fence COMMAND finds REDLOCK_FENCE.\n"
         "\n"
         "Examples:\n"
         "  redlock elect --id eu-1 dispatcher       # watch, and lead if elected\n"
         "  redlock elect --repeat dispatcher -- dispatcher --run\n",
         "Exit status: 128 + n after signal n, or as for run.\n"},
    [RL_CMD_DOCTOR] =
        {"doctor [options]",
         "Looks at every node and says what an operator must know before trusting it\n"
         "with locks: is it reachable, a primary, persistent, safe from eviction,\n"
         "allowed to us; is it one of the others under another name; does its clock\n"
         "agree. Each finding comes with a remedy. On each node one random key is set\n"
         "and deleted again.\n"
         "\n"
         "Examples:\n"
         "  redlock doctor\n"
         "  redlock doctor --ttl 5m --json   # 5m: the longest ttl that you use\n"
         "  redlock doctor --fence           # fences are used, so they have to work\n"
         "  redlock doctor --acl app         # the line that makes the user app\n",
         "Exit status: 0 nothing to complain of; 1 warnings; 2 errors: do not use it\n"
         "like this.\n"},
};

static void print_option(const struct rl_option *option) {
    char name[64];
    const char *text = option->help;
    const char *gap = option->value == NULL || option->value[0] == '[' ? "" : " ";
    int length =
        snprintf(name, sizeof name, "%c%c%s--%s%s%s", option->letter != 0 ? '-' : ' ',
                 option->letter != 0 ? option->letter : ' ', option->letter != 0 ? ", " : "  ",
                 option->name, gap, option->value != NULL ? option->value : "");
    printf("  %-*s", NAME_COLUMN, name);
    if (length >= NAME_COLUMN) {
        printf("\n  %-*s", NAME_COLUMN, "");
    }
    for (const char *end = strchr(text, '\n'); end != NULL; end = strchr(text, '\n')) {
        printf("%.*s\n  %-*s", (int)(end - text), text, NAME_COLUMN, "");
        text = end + 1;
    }
    printf("%s\n", text);
}

void rl_help_show(enum rl_command_name command) {
    const struct help *help = &helps[command];
    assert(help->usage != NULL);
    printf("Usage: redlock %s\n\n%s\nOptions:\n", help->usage, help->text);
    for (size_t i = 0; i < rl_options_count; i++) {
        if ((rl_options_table[i].commands & RL_FOR(command)) != 0) {
            print_option(&rl_options_table[i]);
        }
    }
    printf("TIME is a number with a unit: 500ms, 10s, 5m, 2h, 1d.\n\n%s\n%s", FILES, help->more);
}

void rl_help_overview(void) {
    fputs(overview, stdout);
}
