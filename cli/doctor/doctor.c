/* See doctor.h. */
#include "doctor/doctor.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/acl.h"
#include "doctor/ask.h"
#include "doctor/judge_node.h"
#include "doctor/judge_nodes.h"
#include "doctor/show.h"
#include "exits.h"
#include "say.h"
#include "tool/utf8.h"

static int examine(struct rl_facts *facts, struct rl_args *args) {
    struct rl_findings findings = {0};
    int status = rl_doctor_ask(facts, args);
    if (status != 0) {
        return status;
    }
    for (size_t i = 0; i < args->nodes.n; i++) {
        rl_doctor_judge_node(&findings, &facts[i], (int)i);
    }
    rl_doctor_judge_nodes(&findings, facts, args->nodes.n);
    status = findings.is_short ? rl_fail(RL_EXIT_SYSTEM, "out of memory")
                               : rl_doctor_show(&findings, facts, args);
    rl_findings_free(&findings);
    return status;
}

int rl_cmd_doctor(struct rl_args *args) {
    if (args->n_words > 0 || args->child != NULL) {
        const char *word = args->n_words > 0 ? args->words[0] : "--";
        char shown[64];
        return rl_fail(RL_EXIT_USAGE,
                       "doctor: \"%s\" is one argument too many; nodes are given by --nodes",
                       tool_utf8_clean(word, strlen(word), shown, sizeof shown));
    }
    if (args->acl != NULL) {
        return rl_doctor_acl(args);
    }
    struct rl_facts *facts = calloc(args->nodes.n, sizeof *facts);
    if (facts == NULL) {
        return rl_fail(RL_EXIT_SYSTEM, "out of memory");
    }
    signal(SIGPIPE, SIG_IGN); /* hiredis writes without MSG_NOSIGNAL */
    int status = examine(facts, args);
    explicit_bzero(facts, args->nodes.n * sizeof *facts); /* with the passwords */
    free(facts);
    return status;
}
