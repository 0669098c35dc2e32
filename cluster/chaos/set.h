/* The lock-set workload: a file of numbers for each resource, DIR/set/RESOURCE, one to a line. A
 * holder reads all of it, pauses, and writes all of it back with a number of its own, by a rename,
 * so that a reader sees one whole state or the next. Two clients that do this at the same time
 * overwrite each other's numbers: acknowledged numbers that are not in the file afterwards are lost
 * updates.
 *
 * A file that has grown long is renamed to RESOURCE.NUMBER, and an empty one takes its place; all
 * files of a resource together hold its set.
 *
 * Failure modes: a file that cannot be read or written ends the program (journal.h). A holder that
 * loses the lock before the rename writes nothing and acknowledges nothing. One that is killed
 * between the rename and the acknowledgement leaves a number that is never checked. */
#ifndef CHAOS_SET_H
#define CHAOS_SET_H

#include <stdint.h>

struct chaos_worker;

/* Reads the set of the resource into the worker. */
void chaos_set_read(struct chaos_worker *worker);

/* Writes it back with the number of this hold (its sequence), and acknowledges that. act is called
 * right before each rename, and records the time: if a number is acknowledged after the end of its
 * validity, the checker knows that its writer stalled in between. Returns 0 if act refuses before
 * the number is in. */
int chaos_set_add(struct chaos_worker *worker,
                  int (*act)(const struct chaos_worker *worker, const char *what));

/* Frees what was read. */
void chaos_set_forget(struct chaos_worker *worker);

#endif /* CHAOS_SET_H */
