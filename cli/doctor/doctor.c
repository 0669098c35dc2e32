/* See doctor.h. */
#include "doctor/doctor.h"

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
#include "wire/wires.h"

static int examine(struct rl_facts *facts, struct rl_args *args) {
    struct rl_findings findings = {0};
    rl_doctor_ask(facts, args->nodes.n);
    for (size_t i = 0; i < args->nodes.n; i++) {
        rl_doctor_judge_node(&findings, &facts[i], (int)i);
    }
    int64_t wait_s = rl_doctor_judge_nodes(&findings, facts, args->nodes.n);
    int status = rl_doctor_show(&findings, facts, args, wait_s);
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
    struct rl_wire *wires = NULL;
    int status = rl_wires_open(&wires, args, rl_wires_answer_ms(args));
    if (status != 0) {
        return status;
    }
    struct rl_facts *facts = rl_must_alloc(args->nodes.n, sizeof *facts);
    for (size_t i = 0; i < args->nodes.n; i++) {
        facts[i].wire = &wires[i];
    }
    status = examine(facts, args);
    free(facts);
    rl_wires_free(wires, args->nodes.n);
    return status;
}
