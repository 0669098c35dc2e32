/* What a story of `redlock conform` ends with: its verdict, the rule of docs/protocol.md that it is
 * about, and a sentence. It crosses from the story's process to the one that reports, as bytes. */
#ifndef RL_CLI_CONFORM_VERDICT_H
#define RL_CLI_CONFORM_VERDICT_H

#include <stdint.h>

enum rl_verdict { RL_VERDICT_PASS, RL_VERDICT_FAIL, RL_VERDICT_NOTE, RL_VERDICTS };

#define RL_VERDICT_RULE_MAX 8
#define RL_VERDICT_TEXT_MAX 900
#define RL_VERDICT_ERRORS_MAX 2000

struct rl_result {
    enum rl_verdict verdict;
    int exit_status; /* of redlock, if the client cannot start: text says why; else 0 */
    int64_t ms;      /* how long it took */
    char rule[RL_VERDICT_RULE_MAX];     /* "A7"; of a PASS: "" */
    char text[RL_VERDICT_TEXT_MAX];     /* of a PASS: "" */
    char errors[RL_VERDICT_ERRORS_MAX]; /* if it cannot start: the end of its stderr */
};

#endif
