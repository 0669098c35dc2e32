/* Five fake nodes that demand a password, and a client whose credentials change while it holds
 * f.lock, which must not be lost.
 *
 *     ROTATING_TEST(changes) {               nodes and client know app:old, and it holds the lock
 *         rotating_know(f, 1, "new");        now node 1 knows app:new
 *         rotating_set(f, 1, "new");
 *         rotating_wait(f, 1, 0, 1);         it uses that
 *     }                                      asserts that the lock is still held, besides what
 *                                            five_stop() does
 *
 * A FIVE_TEST() that begins in another way calls rotating_prepare() and ends with rotating_check().
 */
#ifndef FAKE_ROTATING_H
#define FAKE_ROTATING_H

#include "fake/five.h"

#define ROTATING_TEST(name) TEST_ON(name, struct five, f, rotating_start, rotating_stop)
#define ROTATING_EACH(name, times) \
    TEST_ON_EACH(name, times, struct five, f, rotating_start, rotating_stop)

void rotating_start(struct five *f);
void rotating_stop(struct five *f);

/* Nodes that know app:old, and f->urls with app and this password. */
void rotating_prepare(struct five *f, const char *password);

/* Opens the client, on all nodes, and acquires. */
void rotating_open(struct five *f);

/* The lock is still held, and is released. */
void rotating_check(struct five *f);

/* From now on a node accepts only this password for app, or the client uses it. */
void rotating_know(struct five *f, size_t index, const char *password);
void rotating_set(struct five *f, size_t index, const char *password);

/* Waits until a node is up, after at least so many connects, with this value of `credentials` in
 * redlock_node_info. */
void rotating_wait(struct five *f, size_t index, int credentials, uint64_t connects);

#endif /* FAKE_ROTATING_H */
