/* Redlock on three nodes with two clients: can two hold the lock at once?
 *
 * Searched by check.sh, explained in docs/proof.md. Both clients try, hold, extend, repair and
 * release again and again, without end; what an attempt leaves behind is kept apart from what is
 * under way, but not counted, so the states are few although the histories are endless.
 *
 * Properties, in every state that can be reached:
 *   safety      no client is told that it holds, or is renewed, while the other holds and its
 *               validity has not ended: hold(), renewed(). Nothing else begins a hold, so two are
 *               never within validity at once.
 *   continuity  what a client is told is one hold was not interrupted by the other's: renewed().
 *   end states  no process waits for something that cannot come.
 *
 * Time has no numbers. A round gives its sender validity at the sending, and `over` counts the
 * rounds whose validity has ended: at any moment, in the order of sending. A key knows, as `basis`,
 * the last round that prolonged it. It may end at any time, but not while the validity that this
 * round gave has not: that is all that Redlock assumes of clocks (lib/core/quorum.h), and the only
 * thing that ties nodes and clients together. A client may pause between any two steps.
 *
 * A request waits in the node's line of its client, in order, until the node runs it, as late as
 * can be. ROOM of them fit; one more is not sent, as to a node that is left out because it does not
 * answer. An answer needs no step of its own: the client counts it when it next looks, which may be
 * late as well. A restart empties node and lines: a connection does not outlive its server.
 *
 * The guard: a node that restarted is not asked for its vote, and its yes to an extension is not
 * counted, until no client relies on a round that was sent before (`bound`: how many there were).
 *
 * Bounds: EXTENSIONS of one hold (0 to 2), ROOM requests on the way to a node (1 or 2).
 * Attempts and restarts have none.
 *
 * What can be switched on: RESTARTS (without end), RELEASES (as requests; else the key of a token
 * that was given up just ends some time), LOSS (of requests), AT_ONCE (all nodes are asked at once;
 * else one after the other, with any pauses, as when one node is asked first), PLAIN (nodes keep
 * their numbers: to read a story; else they are kept in order, since they are all alike).
 *
 * REPAIR_WAITS with EXTEND_VOTES is another guard: no repair of such a node, and its yes counts.
 *
 * Built wrongly: NO_GUARD, EXTEND_VOTES (alone: a repaired node's yes is counted too early),
 * ASK_UNCHECKED (who may vote is only looked at when the attempt begins), EARLY (keys end at any
 * time), QUORUM=1, LATE_VOTE (an earlier attempt's vote is counted), BLIND_RELEASE (without
 * comparing), REVIVE (a holder does not look at the clock), LATE_REPAIR (the same, and only a
 * repair can bring a key back). ONE_EXTENDS (client 1 alone) makes these smaller.
 * WITNESS: shows that what is to be looked at is reached: the last extension is won while a node is
 * in quarantine.
 */
#ifdef BLIND_RELEASE
#define RELEASES
#endif
#ifndef EXTENSIONS
#define EXTENSIONS 1
#endif
#ifndef QUORUM
#define QUORUM 2
#endif
#ifndef ROOM
#define ROOM 1
#endif

#define N 3
#define AT(n, c) (2 * (n) + (c))

/* Requests on their way. */
#define SET 1
#define EXTEND 2 /* EXTEND + r: of round r */
#define REPAIR 4 /* REPAIR + r: the key is to live as one of round r */
#define GIVEN_UP 7 /* a SET or a REPAIR of a token that its client has given up meanwhile */
#define RELEASE 8

/* A key: whose token it has. */
#define FREE 0
#define OF(c) (1 + (c))
#define LEFT_BY(c) (3 + (c)) /* a token that client c has given up */
#define OWNER(k) (((k) - 1) % 2)

/* Answers. */
#define YES 1
#define GONE 2

#define NONE 7

/* A node, with all that clients know of it. */
typedef Node {
    byte key;
    byte basis;      /* of a key that is under way: the round that prolonged it last */
    byte line[2];    /* from each client: the next request, and 16 times the one behind it */
    byte bound[2];   /* quarantine until so many rounds of this client are over; 0: none */
    byte vote[2];    /* in the round that the client asks for */
    bool unasked[2]; /* takes part in the client's attempt, and no SET was sent to it yet */
};
Node node[N];

/* A client's attempt or hold. */
byte sent[2];   /* rounds: the SETs, then extensions; 0: nothing is under way */
byte over[2];   /* of these, how many have no validity any more */
byte stands[2]; /* the round on which the validity of the hold stands */
byte asks[2];   /* the round whose answers are counted, or NONE */
bool held[2];
bool broken[2]; /* the other was told that it holds since this hold began */

/* Scratch, 0 between steps. spin cannot search in breadth where a model hides something. */
#ifdef PLAIN
byte n, m, z;
#else
hidden byte n, m, z;
hidden int order[N];
#endif

/* rl_lock_is_valid() */
#define VALID(c) (stands[c] >= over[c])
#if defined(REVIVE) || defined(LATE_REPAIR)
#define GOES_ON(c) true
#else
#define GOES_ON(c) VALID(c)
#endif
#ifdef NO_GUARD
#define MAY_VOTE(n) true
#else
#define MAY_VOTE(n) (node[n].bound[0] <= over[0] && node[n].bound[1] <= over[1])
#endif
#ifdef EXTEND_VOTES
#define MAY_EXTEND_VOTE(n) true
#else
#define MAY_EXTEND_VOTE(n) MAY_VOTE(n)
#endif
#ifdef REPAIR_WAITS
#define MAY_REPAIR(n) MAY_VOTE(n)
#else
#define MAY_REPAIR(n) true
#endif
#define COUNT(c, v) ((node[0].vote[c] == v) + (node[1].vote[c] == v) + (node[2].vote[c] == v))
#define RELIED(n) ((node[n].key == OF(0) && node[n].basis >= over[0]) || \
    (node[n].key == OF(1) && node[n].basis >= over[1]))
#ifdef EARLY
#define MAY_END(n) true
#else
#define MAY_END(n) !RELIED(n)
#endif

#define SWAP(a, b, field) z = node[a].field; node[a].field = node[b].field; node[b].field = z

inline order_pair(a, b) {
    if
    :: order[a] > order[b] ->
        SWAP(a, b, key); SWAP(a, b, basis);
        SWAP(a, b, line[0]); SWAP(a, b, line[1]);
        SWAP(a, b, bound[0]); SWAP(a, b, bound[1]);
        SWAP(a, b, vote[0]); SWAP(a, b, vote[1]);
        SWAP(a, b, unasked[0]); SWAP(a, b, unasked[1]);
        order[a] = order[a] + order[b];
        order[b] = order[a] - order[b];
        order[a] = order[a] - order[b]
    :: else
    fi
}

#define CODE(n) (((((((node[n].key * 3 + node[n].basis) * 256 + node[n].line[0]) * 256 + \
    node[n].line[1]) * 4 + node[n].bound[0]) * 4 + node[n].bound[1]) * 9 + \
    node[n].vote[0] * 3 + node[n].vote[1]) * 4 + node[n].unasked[0] * 2 + node[n].unasked[1])

/* Short cuts: a release that cannot find its token is run at once; and a key that no release of its
 * client is on the way to ends at once, since it could only refuse a SET, which may be LOST. */
#if defined(RELEASES) && defined(LOSS)
#define VOID(n, c) (node[n].line[c] % 16 == RELEASE && node[n].key != LEFT_BY(c))
#define WANTED(n, c) (node[n].line[c] % 16 == RELEASE || node[n].line[c] / 16 == RELEASE)
#define END_LEFT(n, c) \
    node[n].key = (node[n].key == LEFT_BY(c) && !WANTED(n, c) -> FREE : node[n].key)
#define DROP_VOID(n, c) node[n].line[c] = (VOID(n, c) -> node[n].line[c] / 16 : node[n].line[c])
#endif

/* The end of each step. */
inline settle() {
#ifdef DROP_VOID
    DROP_VOID(0, 0); DROP_VOID(1, 0); DROP_VOID(2, 0);
    DROP_VOID(0, 1); DROP_VOID(1, 1); DROP_VOID(2, 1);
    END_LEFT(0, 0); END_LEFT(1, 0); END_LEFT(2, 0);
    END_LEFT(0, 1); END_LEFT(1, 1); END_LEFT(2, 1);
#endif
#ifndef PLAIN
    /* Nodes are alike: of all orders one is enough. */
    order[0] = CODE(0); order[1] = CODE(1); order[2] = CODE(2);
    order_pair(0, 1);
    order_pair(1, 2);
    order_pair(0, 1);
#endif
    n = 0; m = 0; z = 0
}

inline send(c, n, what) {
    if
    :: node[n].line[c] == 0 -> node[n].line[c] = what
    :: node[n].line[c] > 0 && node[n].line[c] < 16 && ROOM == 2 ->
        node[n].line[c] = node[n].line[c] + 16 * (what)
    :: else -> printf("client %d: node %d is busy: not sent\n", c, n)
    fi
}

/* A new token; validity runs from here. */
inline begin(c) {
    printf("client %d: an attempt\n", c);
    sent[c] = 1;
    asks[c] = 0;
    n = 0;
    do
    :: n < N ->
#ifdef AT_ONCE
        if
        :: MAY_VOTE(n) -> send(c, n, SET)
        :: else -> printf("client %d: node %d is in quarantine: not asked\n", c, n)
        fi;
#else
        node[n].unasked[c] = MAY_VOTE(n);
#endif
        n++
    :: else -> break
    od;
    settle()
}

/* What becomes of a request when its token is given up: an extension will do nothing. */
#define STALE(m) (((m) == SET || (m) == REPAIR + 1 || (m) == REPAIR + 2) -> GIVEN_UP : \
    (((m) == EXTEND + 1 || (m) == EXTEND + 2) -> 0 : (m)))

/* Every end of an attempt and of a hold, lost ones included. */
inline leave(c) {
    printf("client %d: gives it up and releases\n", c);
    n = 0;
    do
    :: n < N ->
        m = STALE(node[n].line[c] % 16);
        z = STALE(node[n].line[c] / 16);
        node[n].line[c] = (m == 0 -> z : m + 16 * z);
#ifdef RELEASES
        send(c, n, RELEASE);
#endif
        if
        :: node[n].key == OF(c) -> node[n].key = LEFT_BY(c); node[n].basis = 0
        :: else
        fi;
        node[n].bound[c] = 0;
        node[n].vote[c] = 0;
        node[n].unasked[c] = false;
        n++
    :: else -> break
    od;
    sent[c] = 0; over[c] = 0; stands[c] = 0; asks[c] = NONE;
    held[c] = false; broken[c] = false;
    settle()
}

#ifdef ASK_UNCHECKED
#define MAY_ASK(c, n) node[n].unasked[c]
#else
#define MAY_ASK(c, n) (node[n].unasked[c] && MAY_VOTE(n))
#endif

inline ask(c, at) {
    printf("client %d: asks node %d\n", c, at);
    node[at].unasked[c] = false;
    send(c, at, SET);
    settle()
}

inline forget_votes(c) {
    node[0].vote[c] = 0; node[1].vote[c] = 0; node[2].vote[c] = 0;
    node[0].unasked[c] = false; node[1].unasked[c] = false; node[2].unasked[c] = false;
    asks[c] = NONE
}

inline hold(c) {
    printf("client %d: HOLDS\n", c);
    forget_votes(c);
    held[c] = true;
#ifdef LATE_REPAIR
    node[0].line[c] = 0; node[1].line[c] = 0; node[2].line[c] = 0;
#endif
    broken[1 - c] = held[1 - c];
    assert(!(held[1 - c] && VALID(1 - c)));
    settle()
}

inline extend(c) {
    printf("client %d: extension %d\n", c, sent[c]);
    forget_votes(c);
    asks[c] = sent[c];
    sent[c]++;
    send(c, 0, EXTEND + asks[c]); send(c, 1, EXTEND + asks[c]); send(c, 2, EXTEND + asks[c]);
    settle()
}

inline renewed(c) {
    printf("client %d: renewed\n", c);
    stands[c] = asks[c];
    node[0].vote[c] = (node[0].vote[c] == YES -> 0 : node[0].vote[c]);
    node[1].vote[c] = (node[1].vote[c] == YES -> 0 : node[1].vote[c]);
    node[2].vote[c] = (node[2].vote[c] == YES -> 0 : node[2].vote[c]);
#ifdef WITNESS
    assert(stands[c] < EXTENSIONS || (MAY_VOTE(0) && MAY_VOTE(1) && MAY_VOTE(2)));
#endif
    assert(!(VALID(c) && broken[c]));
    assert(!(VALID(c) && held[1 - c] && VALID(1 - c)));
    settle()
}

inline unknown(c) {
    printf("client %d: outcome unknown\n", c);
    forget_votes(c);
    settle()
}

#ifdef ONE_EXTENDS
#define MAY_EXTEND(c) (c == 1 && sent[c] <= EXTENSIONS)
#else
#define MAY_EXTEND(c) (sent[c] <= EXTENSIONS)
#endif

#define IS_GONE(c, n) (node[n].vote[c] == GONE && MAY_REPAIR(n))

inline repair(c, at) {
    printf("client %d: repairs node %d\n", c, at);
    node[at].vote[c] = 0;
    send(c, at, REPAIR + stands[c]);
    settle()
}

proctype client(byte c) {
ready:
    if
    :: d_step { true -> begin(c) }
    fi;
trying:
    if
#ifndef AT_ONCE
    :: d_step { MAY_ASK(c, 0) -> ask(c, 0) }; goto trying
    :: d_step { MAY_ASK(c, 1) -> ask(c, 1) }; goto trying
    :: d_step { MAY_ASK(c, 2) -> ask(c, 2) }; goto trying
#endif
    :: d_step { COUNT(c, YES) >= QUORUM && VALID(c) -> hold(c) }
    :: d_step { true -> leave(c) }; goto ready
    fi;
holding:
    if
#if EXTENSIONS > 0
    :: d_step { GOES_ON(c) && MAY_EXTEND(c) -> extend(c) }; goto extending
    :: d_step { GOES_ON(c) && IS_GONE(c, 0) -> repair(c, 0) }; goto holding
    :: d_step { GOES_ON(c) && IS_GONE(c, 1) -> repair(c, 1) }; goto holding
    :: d_step { GOES_ON(c) && IS_GONE(c, 2) -> repair(c, 2) }; goto holding
#endif
    :: d_step { true -> leave(c) }; goto ready
    fi;
#if EXTENSIONS > 0
extending:
    if
    :: d_step { GOES_ON(c) && COUNT(c, YES) >= QUORUM -> renewed(c) }; goto holding
    :: d_step { GOES_ON(c) -> unknown(c) }; goto holding
    :: d_step { true -> leave(c) }; goto ready
    fi
#endif
}

inline answer(c, at, round, what) {
    if
    :: asks[c] == round && node[at].vote[c] == 0 -> node[at].vote[c] = what
    :: else
    fi
}

inline run_extend(c, at, round) {
    if
    :: node[at].key == OF(c) ->
        node[at].basis = (node[at].basis < round -> round : node[at].basis);
        if
        :: MAY_EXTEND_VOTE(at) ->
            printf("node %d: EXTEND of client %d: yes\n", at, c);
            answer(c, at, round, YES)
        :: else -> printf("node %d: EXTEND of client %d: yes, not counted\n", at, c)
        fi
    :: else ->
        printf("node %d: EXTEND of client %d: gone\n", at, c);
        answer(c, at, round, GONE)
    fi
}

inline set_key(c, at, value, life) {
    if
    :: node[at].key == FREE ->
        printf("node %d: SET of client %d: yes\n", at, c);
        node[at].key = value;
        node[at].basis = life
    :: else -> printf("node %d: SET of client %d: no\n", at, c)
    fi
}

inline execute(c, at) {
    m = node[at].line[c] % 16;
    node[at].line[c] = node[at].line[c] / 16;
    if
    :: m == SET ->
        z = node[at].key;
        set_key(c, at, OF(c), 0);
        if
        :: z == FREE -> answer(c, at, 0, YES)
        :: else
        fi
    :: m == GIVEN_UP ->
        z = node[at].key;
        set_key(c, at, LEFT_BY(c), 0);
#ifdef LATE_VOTE
        if
        :: z == FREE -> answer(c, at, 0, YES)
        :: else
        fi
#endif
#if EXTENSIONS > 0
    :: m > EXTEND && m <= EXTEND + 2 -> run_extend(c, at, m - EXTEND)
    :: m > REPAIR && m <= REPAIR + 2 ->
        printf("node %d: REPAIR of client %d\n", at, c);
        set_key(c, at, OF(c), m - REPAIR)
#endif
#ifdef RELEASES
    :: m == RELEASE ->
        printf("node %d: RELEASE of client %d\n", at, c);
        if
#ifdef BLIND_RELEASE
        :: true -> node[at].key = FREE; node[at].basis = 0
#else
        :: node[at].key == LEFT_BY(c) -> node[at].key = FREE
        :: else
#endif
        fi
#endif
    fi;
    settle()
}

/* What was sent before and is not over may have had this node's vote. */
inline restart(at) {
    printf("node %d: restarts and forgets\n", at);
    node[at].key = FREE; node[at].basis = 0;
    node[at].line[0] = 0; node[at].line[1] = 0;
#ifndef NO_GUARD
    node[at].bound[0] = (sent[0] > over[0] -> sent[0] : 0);
    node[at].bound[1] = (sent[1] > over[1] -> sent[1] : 0);
#endif
    settle()
}

#define HAS_MEMORY(n) (node[n].key != FREE || node[n].line[0] > 0 || node[n].line[1] > 0)

proctype server(byte at) {
end:
    do
    :: d_step { node[at].line[0] > 0 -> execute(0, at) }
    :: d_step { node[at].line[1] > 0 -> execute(1, at) }
#ifdef LOSS
    :: d_step { node[at].line[0] > 0 -> node[at].line[0] = node[at].line[0] / 16; settle() }
    :: d_step { node[at].line[1] > 0 -> node[at].line[1] = node[at].line[1] / 16; settle() }
#endif
    :: d_step { node[at].key != FREE && MAY_END(at) ->
        printf("node %d: the key of client %d ends\n", at, OWNER(node[at].key));
        node[at].key = FREE; node[at].basis = 0;
        settle() }
#ifdef RESTARTS
    :: d_step { HAS_MEMORY(at) -> restart(at) }
#endif
    od
}

inline end_round(c) {
    over[c]++;
    printf("time: what client %d's round %d gave is over\n", c, over[c] - 1);
    n = 0;
    do
    :: n < N ->
        node[n].bound[c] = (node[n].bound[c] <= over[c] -> 0 : node[n].bound[c]);
        n++
    :: else -> break
    od;
    settle()
}

proctype time() {
end:
    do
    :: d_step { over[0] < sent[0] -> end_round(0) }
    :: d_step { over[1] < sent[1] -> end_round(1) }
    od
}

init {
    atomic {
        asks[0] = NONE; asks[1] = NONE;
        run client(0); run client(1);
        run server(0); run server(1); run server(2);
        run time()
    }
}
