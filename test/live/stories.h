/* How locks interact on real nodes, as stories: a table of texts, which stories_test.c plays on
 * five nodes and three clients. Steps are separated by ";".
 *
 *     a: key                  a lock is made; what it is follows in any order:
 *     a: shared x,y @1        a reader, of two resources, of client 1 (else of client 0)
 *     a: 2of3 key             two permits of three
 *     a: key owner=7 fenced holder=me
 *     a: key ttl=600 wait=30 max=1000     options of its acquires, in ms
 *
 *     a acquire HELD          one try, which ends so; without a status it succeeds. As well:
 *     a extend, release, cancel, downgrade, upgrade, disown, free
 *     a adopts b, a ends b    by the token with which b held last
 *     a asks                  an acquire that waits for as long as it takes
 *     a waits                 its callback has not come
 *     a owner 8               of its next acquires
 *     a gets EXPIRED          it has come, with this
 *     a lost EXPIRED          on_lost has run, once. A story in which it runs unasked fails.
 *     a says TEXT             is a part of its message
 *     a on 5                  so many nodes have its token at all that it is of
 *     a valid, over           redlock_lock_is_valid()
 *     a like b                they have one token; "a unlike b": they have not
 *     a above b, level b      its fence is larger, or the same; "a unfenced": it has none
 *     a below 9000            its fence is smaller than the number
 *     a slot 2                the first of its permits
 *     a voted FAILED 2        so many votes of the last round are of this kind
 *
 *     nodes 0-2 DEL key       a command for these nodes; "node 0 ..." for one
 *     value VALUE 3 key       so many nodes have this value there
 *     life 20000-30000 1 key  how long the key lives on node 1, in ms
 *     permits 4               the number is set
 *
 * After each step no operation is pending but acquires that wait. */
#ifndef LIVE_STORIES_H
#define LIVE_STORIES_H

#include <stddef.h>

struct story {
    const char *name;
    const char *steps;
};

extern const struct story stories[];
extern const size_t stories_count;

#endif
