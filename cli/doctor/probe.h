/* What is behind a port that takes connections and does not speak Redis: TLS, or another server.
 *
 * What it said first tells; if it said nothing, its answer to the beginning of a TLS handshake, on
 * a connection of its own.
 *
 * Failure modes: what answers in another way is shown by its first bytes, as printable text. What
 * says nothing in either case stays unknown: it may well be Redis, and hang. */
#ifndef RL_CLI_DOCTOR_PROBE_H
#define RL_CLI_DOCTOR_PROBE_H

#include "doctor/facts.h"

/* Looks what is there that takes connections and does not speak Redis. */
void rl_doctor_probe(struct rl_facts *facts);

#endif
