/* See args.h. */
#include "args.h"

#include <assert.h>
#include <stdlib.h>

#define GRACE_MS_MAX 5000
#define DRIFT_RATIO_INVERSE 100
#define DRIFT_MS 2
#define GRACE_OF_TTL 6

static const char *const command_texts[RL_CMDS] = {"run",    "acquire", "extend", "release",
                                                   "status", "elect",   "doctor", "ls",
                                                   "top",    "queue",   "kick",   "metrics"};

const char *rl_args_command_text(enum rl_command_name command) {
    assert(command < RL_CMDS);
    return command_texts[command];
}

int64_t rl_args_grace_ms(const struct rl_args *args) {
    if (args->grace_ms != RL_ARGS_UNSET) {
        return args->grace_ms;
    }
    int64_t grace_ms = args->ttl_ms / GRACE_OF_TTL;
    return grace_ms < GRACE_MS_MAX ? grace_ms : GRACE_MS_MAX;
}

int64_t rl_args_drift_ms(int64_t ttl_ms) {
    return (ttl_ms + DRIFT_RATIO_INVERSE - 1) / DRIFT_RATIO_INVERSE + DRIFT_MS;
}

void rl_args_tls(const struct rl_args *args, redlock_client_options *options) {
    options->tls_ca = args->tls_ca;
    options->tls_cert = args->tls_cert;
    options->tls_key = args->tls_key;
    options->tls_server_name = args->tls_server_name;
    options->tls_insecure_skip_verify = args->tls_insecure;
}

void rl_args_free(struct rl_args *args) {
    tool_list_free(&args->nodes);
    free(args->config_path);
    free(args->config_text);
    rl_password_forget(&args->password);
}
