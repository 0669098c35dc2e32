/* Fences on three nodes with two clients: does every grant get a larger number than those before?
 *
 * Searched by check.sh, explained in docs/proof.md. Nothing here is about time, RESTART excepted: a
 * key may end at any moment, also of a client that holds, and everybody may pause for ever. So
 * there are many holders at once, and the fences have to hold all the same.
 *
 * Properties, in every state that can be reached: granted().
 *   order       a grant's fence is larger than the largest that had been granted when its attempt
 *               began.
 *   difference  no two grants have the same fence.
 *   end states  no process waits for something that cannot come.
 *
 * A request waits in the node's line of its client, in order, or is lost. Two fit; one more is not
 * sent. SET: where there is no key, set it, and the counter to max(counter + 1, floor); the answer
 * is the counter. RAISE: where the token is and the counter is not larger than the fence, set it to
 * the fence. Requests of a token that was given up still run. A release is no request here: a key
 * may end at any time anyway.
 *
 * Two answers are a quorum, and any two that came may be those that are counted. Floors are any, of
 * two values: 0 and AHEAD.
 *
 * RESTART: one node loses keys, counters and its lines, once. Then the promise needs time: an
 * attempt ends with its validity (`over`), the node is in quarantine until all attempts of before
 * the restart have ended, and the floors of attempts that begin after that are larger by LATER than
 * those of attempts that began before the restart; in between they may be either.
 *
 * Bounds: ATTEMPTS_0 and ATTEMPTS_1 of the two clients.
 *
 * Built wrongly: NO_RAISE (the maximum is granted at once), BLIND_RAISE (the token is not
 * compared), RAISE_ABOVE (a node whose counter is larger already counts as raised), FEWER (the
 * smaller of the two numbers that a quorum voted; alone it is harmless, so with RAISE_ABOVE),
 * MORTAL (a counter ends with the key), NO_GUARD (with RESTART: no quarantine). PLAIN: nodes
 * keep their numbers, for a story. WITNESS: a grant that had to raise is reached, also after a node
 * lost its counters.
 */
#ifndef ATTEMPTS_0
#define ATTEMPTS_0 2
#endif
#ifndef ATTEMPTS_1
#define ATTEMPTS_1 2
#endif
#ifndef AHEAD
#define AHEAD 2
#endif

#define N 3
#define LATER 8 /* what a floor gains while a node is in quarantine */

/* Requests on their way. */
#define SET 1
#define RAISE 2
#define OLD_SET 3    /* OLD_SET + which floor: of a token given up meanwhile */
#define OLD_RAISE 8  /* OLD_RAISE + fence */
#define ROOM 32      /* a second request is written as ROOM times its code */
#define FIRST(c, n) (node[n].line[c] % ROOM)
#define SECOND(c, n) (node[n].line[c] / ROOM)

/* Keys. */
#define FREE 0
#define OF(c) (1 + (c))
#define LEFT_BY(c) (3 + (c))

/* A node, with all that clients know of it. */
typedef Node {
    byte key;
    byte counter;
    short line[2]; /* from each client: the next request, and ROOM times the one behind it */
    byte vote[2];  /* of a SET the counter, of a RAISE 1; 0: no yes */
    bool bound[2]; /* in quarantine until this client's attempt is over */
};
Node node[N];

byte attempts[2];
bool tries[2];   /* from the beginning of an attempt to its grant */
bool raising[2]; /* ... and in its second round */
bool over[2];    /* its validity has ended */
byte floor[2];   /* which one */
byte fence[2];
byte before[2];  /* top when the attempt began */
byte top;        /* the largest fence that was granted */
int seen;        /* a bit for each fence that was granted */
byte lost; /* 0: no node has restarted, 1: one has, and is in quarantine, 2: it may vote again */

/* Scratch, 0 between steps. */
hidden byte at, m, z;
hidden int order[N];

#define SWAP(a, b, field) z = node[a].field; node[a].field = node[b].field; node[b].field = z

inline order_pair(a, b) {
    if
    :: order[a] > order[b] ->
        SWAP(a, b, key); SWAP(a, b, counter);
        SWAP(a, b, vote[0]); SWAP(a, b, vote[1]);
        SWAP(a, b, bound[0]); SWAP(a, b, bound[1]);
        order[a] = node[a].line[0];
        node[a].line[0] = node[b].line[0]; node[b].line[0] = order[a];
        order[a] = node[a].line[1];
        node[a].line[1] = node[b].line[1]; node[b].line[1] = order[a]
    :: else
    fi
}

/* Need not be one to one with a node's state: nodes that it confuses stay in their order. */
#define CODE(n) ((((node[n].counter * 5 + node[n].key) * 1024 + node[n].line[0]) * 1024 + \
    node[n].line[1]) * 8 + (node[n].vote[0] + 3 * node[n].vote[1] + node[n].bound[0]) % 8)

/* Short cuts: a RAISE that cannot find its token is run at once; and a key of a token that was
 * given up ends at once unless a RAISE is on the way to it: it could only refuse a SET, which may
 * be lost as well. */
#define IS_OLD_RAISE(x) ((x) >= OLD_RAISE)
#ifdef BLIND_RAISE
#define IS_VOID(c, n) false
#else
#define IS_VOID(c, n) ((FIRST(c, n) == RAISE && node[n].key != OF(c)) || \
    (IS_OLD_RAISE(FIRST(c, n)) && node[n].key != LEFT_BY(c)))
#endif
#define DROP_VOID(c, n) node[n].line[c] = (IS_VOID(c, n) -> SECOND(c, n) : node[n].line[c])
#define WANTED(c, n) (IS_OLD_RAISE(FIRST(c, n)) || IS_OLD_RAISE(SECOND(c, n)))
#define END_LEFT(c, n) \
    node[n].key = (node[n].key == LEFT_BY(c) && !WANTED(c, n) -> FREE : node[n].key)

inline settle_node(n) {
    DROP_VOID(0, n); DROP_VOID(0, n); DROP_VOID(1, n); DROP_VOID(1, n);
    END_LEFT(0, n); END_LEFT(1, n)
}

/* The end of each step. */
inline settle() {
    settle_node(0); settle_node(1); settle_node(2);
#ifndef PLAIN
    order[0] = CODE(0); order[1] = CODE(1); order[2] = CODE(2);
    if
    :: order[0] > order[1] -> order_pair(0, 1); order[0] = CODE(0); order[1] = CODE(1)
    :: else
    fi;
    if
    :: order[1] > order[2] -> order_pair(1, 2); order[1] = CODE(1); order[2] = CODE(2)
    :: else
    fi;
    if
    :: order[0] > order[1] -> order_pair(0, 1)
    :: else
    fi;
#endif
    at = 0; m = 0; z = 0
}

inline send(c, n, what) {
    if
    :: node[n].line[c] == 0 -> node[n].line[c] = what
    :: node[n].line[c] > 0 && node[n].line[c] < ROOM ->
        node[n].line[c] = node[n].line[c] + ROOM * (what)
    :: else -> printf("client %d: node %d is busy: not sent\n", c, n)
    fi
}

#define FLOOR(which) (((which) % 2) * AHEAD + ((which) / 2) * LATER)
#ifdef NO_GUARD
#define MAY_VOTE(n) true
#else
#define MAY_VOTE(n) !(node[n].bound[0] || node[n].bound[1])
#endif

inline begin(c, which) {
    printf("client %d: an attempt, floor %d\n", c, FLOOR(which));
    attempts[c]++;
    tries[c] = true;
    floor[c] = which;
    before[c] = top;
    at = 0;
    do
    :: at < N ->
        if
        :: MAY_VOTE(at) -> send(c, at, SET)
        :: else -> printf("client %d: node %d is in quarantine: not asked\n", c, at)
        fi;
        at++
    :: else -> break
    od;
    settle()
}

#define IN_TIME(n) !(node[n].bound[0] || node[n].bound[1])
#define ACTIVE(c) (tries[c] && !over[c])
/* What becomes of a request when its token is given up. */
#define AGED(x, c) ((x) == SET -> OLD_SET + floor[c] : ((x) == RAISE -> OLD_RAISE + fence[c] : (x)))

/* When a node's quarantine has ended, all clocks have gone on by that much. */
inline heal() {
#ifdef RESTART
    if
    :: lost == 1 && IN_TIME(0) && IN_TIME(1) && IN_TIME(2) ->
        lost = 2;
        printf("time: the quarantine is over\n")
    :: else
    fi
#else
    skip
#endif
}

inline leave(c) {
    printf("client %d: gives up or releases\n", c);
    at = 0;
    do
    :: at < N ->
        m = AGED(FIRST(c, at), c);
        z = AGED(SECOND(c, at), c);
        node[at].line[c] = m + ROOM * z;
        node[at].key = (node[at].key == OF(c) -> LEFT_BY(c) : node[at].key);
        node[at].vote[c] = 0;
        node[at].bound[c] = false;
        at++
    :: else -> break
    od;
    tries[c] = false; raising[c] = false; over[c] = false;
    floor[c] = 0; fence[c] = 0; before[c] = 0;
    heal();
    settle()
}

inline forget_votes(c) {
    node[0].vote[c] = 0; node[1].vote[c] = 0; node[2].vote[c] = 0
}

inline granted(c) {
    printf("client %d: GRANTED, fence %d; the highest granted before its attempt: %d\n",
        c, fence[c], before[c]);
#ifdef WITNESS
    assert(!raising[c] || lost < 2 || fence[c] < LATER);
#endif
    assert(fence[c] > before[c]);
    assert((seen & (1 << fence[c])) == 0);
    seen = seen | (1 << fence[c]);
    top = (fence[c] > top -> fence[c] : top);
    forget_votes(c);
    raising[c] = false; tries[c] = false; floor[c] = 0; before[c] = 0;
    settle()
}

#ifdef FEWER
#define FENCE_OF(a, b) ((a) < (b) -> (a) : (b))
#else
#define FENCE_OF(a, b) ((a) > (b) -> (a) : (b))
#endif

/* A quorum granted: a and b. */
inline decide(c, a, b) {
    fence[c] = FENCE_OF(node[a].vote[c], node[b].vote[c]);
    printf("client %d: counts node %d: %d, node %d: %d\n", c, a, node[a].vote[c], b,
        node[b].vote[c]);
#ifndef NO_RAISE
    if
    :: node[a].vote[c] != node[b].vote[c] ->
        raising[c] = true;
        send(c, 0, RAISE); send(c, 1, RAISE); send(c, 2, RAISE)
    :: else
    fi;
#endif
    forget_votes(c);
    settle()
}

#define VOTED(c, a, b) (node[a].vote[c] > 0 && node[b].vote[c] > 0 && !over[c])
#define PLACED(c) ((node[0].vote[c] > 0) + (node[1].vote[c] > 0) + (node[2].vote[c] > 0) >= 2)

proctype client(byte c; byte most) {
ready:
    if
    :: attempts[c] == most -> goto done
    :: d_step { attempts[c] < most && lost < 2 -> begin(c, 0) }
#if AHEAD > 0
    :: d_step { attempts[c] < most && lost < 2 -> begin(c, 1) }
#endif
#ifdef RESTART
    :: d_step { attempts[c] < most && lost > 0 -> begin(c, 2) }
#if AHEAD > 0
    :: d_step { attempts[c] < most && lost > 0 -> begin(c, 3) }
#endif
#endif
    fi;
trying:
    if
    :: d_step { VOTED(c, 0, 1) -> decide(c, 0, 1) }
    :: d_step { VOTED(c, 0, 2) -> decide(c, 0, 2) }
    :: d_step { VOTED(c, 1, 2) -> decide(c, 1, 2) }
    :: d_step { true -> leave(c) }; goto ready
    fi;
fencing:
    if
    :: d_step { (!raising[c] || PLACED(c)) && !over[c] -> granted(c) }
    :: d_step { true -> leave(c) }; goto ready
    fi;
holding:
    if
    :: d_step { true -> leave(c) }; goto ready
    fi;
done:
    skip
}

/* A yes to the SET, with the counter. */
#define VOTES(c) (tries[c] && !raising[c] && fence[c] == 0)

inline run_set(c, n, given_up, number) {
    if
    :: node[n].key == FREE ->
        node[n].key = (given_up -> LEFT_BY(c) : OF(c));
        node[n].counter = (node[n].counter + 1 > number -> node[n].counter + 1 : number);
        printf("node %d: SET of client %d: yes, counter %d\n", n, c, node[n].counter);
        node[n].vote[c] = (!given_up && VOTES(c) -> node[n].counter : node[n].vote[c])
    :: else -> printf("node %d: SET of client %d: no\n", n, c)
    fi
}

#ifdef RAISE_ABOVE
#define PLACEABLE(n, number) true
#else
#define PLACEABLE(n, number) (node[n].counter <= number)
#endif
#ifdef BLIND_RAISE
#define HAS_TOKEN(n, value) true
#else
#define HAS_TOKEN(n, value) (node[n].key == value)
#endif

inline run_raise(c, n, given_up, number) {
    if
    :: HAS_TOKEN(n, (given_up -> LEFT_BY(c) : OF(c))) && PLACEABLE(n, number) ->
        node[n].counter = (node[n].counter < number -> number : node[n].counter);
        printf("node %d: RAISE of client %d to %d: yes, counter %d\n", n, c, number,
            node[n].counter);
        node[n].vote[c] = (!given_up && raising[c] -> 1 : node[n].vote[c])
    :: else -> printf("node %d: RAISE of client %d to %d: no\n", n, c, number)
    fi
}

inline execute(c, n) {
    m = FIRST(c, n);
    node[n].line[c] = SECOND(c, n);
    if
    :: m == SET -> run_set(c, n, false, FLOOR(floor[c]))
    :: m == RAISE -> run_raise(c, n, false, fence[c])
    :: m >= OLD_SET && m < OLD_RAISE -> run_set(c, n, true, FLOOR(m - OLD_SET))
    :: else -> run_raise(c, n, true, m - OLD_RAISE)
    fi;
    settle()
}

inline lose(c, n) {
    printf("node %d: the next request of client %d is lost\n", n, c);
    node[n].line[c] = SECOND(c, n);
    settle()
}

inline end_key(n) {
    printf("node %d: the key of client %d ends\n", n, (node[n].key - 1) % 2);
    node[n].key = FREE;
#ifdef MORTAL
    node[n].counter = 0;
#endif
    settle()
}

inline restart(n) {
    printf("node %d: restarts, keys and counters are lost\n", n);
    lost = 1;
    node[n].key = FREE; node[n].counter = 0;
    node[n].line[0] = 0; node[n].line[1] = 0;
    node[n].bound[0] = ACTIVE(0);
    node[n].bound[1] = ACTIVE(1);
    heal();
    settle()
}

proctype server(byte n) {
end:
    do
    :: d_step { node[n].line[0] > 0 -> execute(0, n) }
    :: d_step { node[n].line[1] > 0 -> execute(1, n) }
    :: d_step { node[n].line[0] > 0 -> lose(0, n) }
    :: d_step { node[n].line[1] > 0 -> lose(1, n) }
    :: d_step { node[n].key != FREE -> end_key(n) }
#ifdef RESTART
    :: d_step { lost == 0 -> restart(n) }
#endif
    od
}

#ifdef RESTART
inline end_attempt(c) {
    printf("time: validity of client %d's attempt is over\n", c);
    over[c] = true;
    node[0].bound[c] = false; node[1].bound[c] = false; node[2].bound[c] = false;
    heal();
    settle()
}

proctype time() {
end:
    do
    :: d_step { tries[0] && !over[0] -> end_attempt(0) }
    :: d_step { tries[1] && !over[1] -> end_attempt(1) }
    od
}
#endif

init {
    atomic {
        run client(0, ATTEMPTS_0); run client(1, ATTEMPTS_1);
        run server(0); run server(1); run server(2);
#ifdef RESTART
        run time()
#endif
    }
}
