"""Writes the C source of redlock._native, which cffi makes from the declarations below and in
glue.h.

    python3 build.py OUTPUT

The compiler checks them against the headers; "..." stands for what only the headers define.
"""

import sys
from pathlib import Path

from cffi import FFI

OPTIONS = {
    "redlock_client_options": """
        const char *const *nodes; size_t n_nodes;
        int64_t connect_timeout_ms, node_timeout_ms, reconnect_min_ms, reconnect_max_ms;
        double drift_ratio; int64_t drift_ms, lost_margin_ms; const char *client_name;
        char *error; size_t error_size; int64_t fence_retention_ms; int guard; int64_t max_ttl_ms;
        const char *tls_ca, *tls_cert, *tls_key, *tls_server_name; int tls_insecure_skip_verify;
        int metrics; const char *config_id;""",
    "redlock_lock_options": """
        const redlock_bytes *resources; size_t n_resources; const char *holder;
        int mode; int32_t permits, take;""",
    "redlock_acquire_options": """
        int64_t ttl_ms, tries, wait_ms, delay_ms, jitter_ms, min_validity_ms;
        int auto_extend; int64_t renew_ms, max_hold_ms; uint64_t owner; int fencing;
        int64_t max_silence_ms, linger_ms;""",
    "redlock_election_options": """
        const void *name; size_t name_length; const char *candidate;
        int64_t ttl_ms, renew_ms, poll_ms; int fencing; int64_t max_silence_ms;""",
}

CDEF = """
#define REDLOCK_MESSAGE_MAX ...
#define REDLOCK_NO_LIMIT ...
typedef ... redlock_client;
typedef ... redlock_lock;
typedef ... redlock_election;
typedef struct { const void *data; size_t length; } redlock_bytes;
"""

for name, fields in OPTIONS.items():
    # An enum is as wide as an int for all compilers that this is built with; cffi checks that, too.
    CDEF += f"typedef struct {{ {fields} ...; }} {name};\nint {name}_init({name} *options, size_t size);\n"

CDEF += """
const char *redlock_version(void);
int redlock_has_tls(void);
uint64_t redlock_now_ns(void);
const char *redlock_err_name(int status);
const char *redlock_strerror(int status);

const char *redlock_client_message(const redlock_client *client, char *buffer, size_t size);
int redlock_metrics_format(const redlock_client *client, int text, char *buffer, size_t size);

int32_t redlock_lock_slot(const redlock_lock *lock, size_t index);
const char *redlock_lock_message(const redlock_lock *lock, char *buffer, size_t size);
int redlock_lock_attempt_status(const redlock_lock *lock);
int redlock_lock_alive(redlock_lock *lock);

void redlock_election_free(redlock_election *election);
int redlock_election_campaign(redlock_election *election);
int redlock_election_alive(redlock_election *election);
int redlock_election_state(const redlock_election *election);
int redlock_election_is_leader(const redlock_election *election);
uint64_t redlock_election_fence(const redlock_election *election);
const char *redlock_election_leader(const redlock_election *election);
const char *redlock_election_message(const redlock_election *election, char *buffer, size_t size);

enum py_event { PY_DONE, PY_EXTENDED, PY_LOST, PY_ELECTED, PY_LEADER, PY_BITS, ... };
struct py_item { uint64_t id; struct py_loop *loop; unsigned events; int done, extended, lost; char token[...]; ...; };
struct py_loop { ...; };
"""

GLUE = Path(__file__).with_name("glue.h").read_text().partition("build.py reads it -- */")[2].partition("#endif")[0]

builder = FFI()
builder.cdef(CDEF)
builder.cdef(GLUE)
builder.set_source("redlock._native", '#include "glue.h"')
builder.emit_c_code(sys.argv[1])
