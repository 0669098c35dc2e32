/* The lock-set workload: a file of numbers for each resource, DIR/set/RESOURCE, one to a line.
 * A holder reads all of it, pauses, and writes all of it back with a number of its own, by a
 * rename, so that a reader sees one whole state or the next. A client that does this while another
 * one does it too wipes the other's number out: numbers that were acknowledged and are not in the
 * file afterwards are lost updates.
 *
 * A file that has grown long is put aside as RESOURCE.NUMBER, and an empty one takes its place; the
 * set of a resource is what all its files together hold.
 *
 * Failure modes: a file that cannot be read or written ends the program (journal.h). A holder that
 * loses the lock before the rename writes nothing and acknowledges nothing. One that is killed
 * between the rename and the acknowledgement leaves a number that is never asked for.
 */
#ifndef CHAOS_SET_H
#define CHAOS_SET_H

#include <stdint.h>

struct chaos_worker;

/* Reads the set of the resource into the worker. */
void chaos_set_read(struct chaos_worker *worker);

/* Writes it back with the number of this hold (its sequence), and acknowledges that. act is asked
 * right before each rename, and writes down when that was: so of a number that is acknowledged
 * after the end of its validity the checker knows that its writer stood still in between. Returns
 * 0 if it says no before the number is in. */
int chaos_set_add(struct chaos_worker *worker,
                  int (*act)(const struct chaos_worker *worker, const char *what));

/* Frees what was read. */
void chaos_set_forget(struct chaos_worker *worker);

#endif /* CHAOS_SET_H */
