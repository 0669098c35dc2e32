/* See judge_tls.h. */
#include "doctor/judge_tls.h"

#include <stddef.h>

/* A client would connect all the same. */
void rl_doctor_judge_tls(struct rl_findings *findings, const struct rl_facts *facts, int node) {
    static const char check[] = "tls";
    bool skips = facts->wire->tls.ca[0] != '\0' || facts->wire->tls.has_insecure
                     ? facts->wire->tls.insecure
                     : facts->wire->args->tls_insecure;
    if (facts->wire->url.is_tls && skips) {
        rl_findings_add(
            findings, check, RL_LEVEL_WARNING, node,
            "name its authority (tls-ca), and its name (tls-server-name) if that is not the URL's "
            "host, and leave tls_insecure_skip_verify out",
            "its certificate is not verified: any machine on the way can be this node");
    } else if (facts->wire->url.is_tls && facts->is_reachable) {
        rl_findings_add(findings, check, RL_LEVEL_OK, node, NULL, "its certificate is good");
    }
}
