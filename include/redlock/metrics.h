/* Metrics of a client, in the text format of Prometheus and compatible systems. redlock.h includes
 * this file.
 *
 * The library has no HTTP server: the program serves the text on one of its own pages, or writes it
 * to a file. docs/monitoring.md says what to alert on.
 *
 * Counters and gauges are those of redlock_stats and redlock_node_info, and are always there.
 * Histograms (how long acquires waited, how long locks were held, how long each node took) are kept
 * if the client was opened with `metrics` set: 192 bytes for each node and 448 for each label (16,
 * with a label function), no memory and no system call for an event. Without it an event costs one
 * comparison.
 *
 * Names of resources do not appear, since there may be any number of them; see
 * redlock_metrics_label_cb for the program's own labels. Each sample has the label `client`, the
 * client_name of the options, so that a program with several clients can serve all of their texts:
 * give each client a name, and each text its own page or file, since a text may describe a metric
 * only once.
 *
 * There is no count of overtaken waiters: no client can see when another one came.
 */
#ifndef REDLOCK_METRICS_H
#define REDLOCK_METRICS_H

#include "redlock/redlock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The format of the text. */
enum redlock_metrics_text {
    REDLOCK_METRICS_PROMETHEUS = 0, /* text/plain; version=0.0.4 */
    REDLOCK_METRICS_OPENMETRICS     /* application/openmetrics-text; version=1.0.0 */
};

/* Writes the metrics of a client, as they are now, into buffer, as snprintf() does: never more than
 * size bytes with the zero at their end, and the result is the length of the whole text without
 * that zero. If it is size or more, the text was cut and is unusable: take a larger buffer. With
 * size 0, buffer may be NULL. The length may grow between two calls, with the numbers and labels in
 * it; it is below 32 KB for five nodes without labels, and below 3 MB always.
 *
 * On the client's thread, as everything in redlock.h; for the other interfaces there are
 * redlock_blocking_metrics() and redlock::client::metrics().
 *
 * Returns the length, or REDLOCK_ERR_INVALID (client is NULL; buffer is NULL and size is not 0;
 * text is none of the above). Since 0.1. */
REDLOCK_API int redlock_metrics_format(const redlock_client *client, enum redlock_metrics_text text,
                                       char *buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* REDLOCK_METRICS_H */
