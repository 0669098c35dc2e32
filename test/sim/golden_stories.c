/* The scripts of the stories, see golden.h. */
#include "sim/golden.h"

#include "server/server.h"

#define ACQUIRE(at, client, ttl, pause) \
    { at, SIM_ACT_ACQUIRE, client, 1, ttl, pause }
#define FENCED(at, client, ttl, pause) \
    { at, SIM_ACT_FENCED, client, 1, ttl, pause }
#define READ(at, client, ttl, pause) \
    { at, SIM_ACT_READ, client, 1, ttl, pause }
#define PERMITS(at, client, many, ttl, pause) \
    { at, SIM_ACT_PERMITS, client, many, ttl, pause }
#define STORY_OF(permits) \
    { 0, SIM_ACT_STORY_OF, 1, 1, permits, 0 }
#define CHANGE(at, client) \
    { at, SIM_ACT_CHANGE, client, 1, 0, 0 }
#define WALL(at, client, ahead_ms) \
    { at, SIM_ACT_WALL, client, 1, ahead_ms, 0 }
#define EXTEND(at, client, ttl) \
    { at, SIM_ACT_EXTEND, client, 1, ttl, 0 }
#define RELEASE(at, client) \
    { at, SIM_ACT_RELEASE, client, 1, 0, 0 }
#define FAR(at, client, node, there, back) \
    { at, SIM_ACT_FAR, client, node, there, back }
#define FAULT(at, client, node, fault, for_ms) \
    { at, SIM_ACT_FAULT, client, node, fault, for_ms }
#define UPGRADE(at, node, native) \
    { at, SIM_ACT_SERVER, 1, node, native, 0 }
#define FORBID(at, node) \
    { at, SIM_ACT_FORBID, 1, node, 0, 0 }
#define RESTART(at, node) FAULT(at, 1, node, SIM_FAULT_NODE_RESTART, 10)
#define CUT(at, client, node, for_ms) FAULT(at, client, node, SIM_FAULT_PARTITION, for_ms)
#define END(at) \
    { at, SIM_ACT_END, 1, 1, 0, 0 }

const struct sim_story sim_stories[] = {
    {"02-split-vote",
     "Two clients ask at the same moment, and each reaches two of four nodes first. Neither has "
     "the\n"
     "three that it needs: both undo what they did and wait in line. The first to join has its\n"
     "turn at once. Its release passes the lock on: each node gives its key to the other client,\n"
     "and tells it so. That one has no measure of the nodes' clocks yet, and asks each that it\n"
     "hears of for its vote. When the lock is passed back, what the nodes say are votes: nobody\n"
     "is asked.",
     4,
     RL_GUARD_OFF,
     {FAR(0, 1, 3, 5, 0), FAR(0, 1, 4, 5, 0), FAR(0, 2, 1, 5, 0), FAR(0, 2, 2, 5, 0),
      ACQUIRE(0, 1, 1000, 40), ACQUIRE(0, 2, 1000, 90), RELEASE(150, 1), RELEASE(250, 2),
      ACQUIRE(270, 2, 1000, 20), RELEASE(300, 1), END(350)}},
    {"12-late-set",
     "A SET is still under way on a connection that was given up; the release overtakes it on the "
     "next\n"
     "one. The key that it sets is an orphan, and ends by its ttl: the second client has to wait "
     "for\n"
     "that node, and for that node only.",
     3,
     RL_GUARD_OFF,
     {FAULT(0, 1, 3, SIM_FAULT_STRAY, 400), ACQUIRE(1, 1, 600, 0), RELEASE(200, 1),
      ACQUIRE(450, 2, 600, 0), RELEASE(500, 2), ACQUIRE(1050, 2, 600, 0), RELEASE(1100, 2),
      END(1200)}},
    {"13-late-extension",
     "An extension by 300 ms is still under way on a connection that was given up when a longer "
     "one is\n"
     "renewed by two of three nodes. When it runs, it must not cut short what the holder relies "
     "on: the\n"
     "script only ever lengthens a life. Otherwise the second client would be granted two nodes "
     "at\n"
     "1300 ms, while the first still holds the lock.",
     3,
     RL_GUARD_OFF,
     {ACQUIRE(10, 1, 1000, 0), FAULT(300, 1, 2, SIM_FAULT_STRAY, 500), EXTEND(301, 1, 300),
      CUT(490, 1, 3, 1500), EXTEND(500, 1, 2000), ACQUIRE(1300, 2, 1000, 0), RELEASE(1400, 1),
      ACQUIRE(1450, 2, 1000, 0), END(1500)}},
    {"14-answers-too-late",
     "The client is stopped for longer than the ttl while the answers are under way. When it goes "
     "on, a\n"
     "quorum has said yes, but validity runs from the sending and is over: that is not a grant.",
     3,
     RL_GUARD_OFF,
     {ACQUIRE(10, 1, 300, 0), FAULT(11, 1, 1, SIM_FAULT_CLIENT_PAUSE, 600), END(800)}},
    {"15-fenced",
     "Each node that grants counts, from the client's wall clock on. Three of five counted\n"
     "alike, so their number is the fence, after one round. The second client's wall clock\n"
     "is ten seconds behind: the nodes' counters go on by one, and its fence is the larger.",
     5,
     RL_GUARD_OFF,
     {WALL(0, 1, 10000), FENCED(0, 1, 1000, 0), RELEASE(100, 1), FENCED(200, 2, 1000, 0),
      EXTEND(250, 2, 0), RELEASE(300, 2), END(350)}},
    {"16-fence-raised",
     "The second client's wall clock is ten seconds ahead, and it could not reach n3. So when\n"
     "the first client asks, n2 counts on from there, and n3 from an earlier time. The larger\n"
     "number is the fence, but only one node has it: a second round raises the others, where\n"
     "the token is, and then the lock is granted. n1 is slow; its grant comes too late to be\n"
     "counted, but not too late to be raised.",
     3,
     RL_GUARD_OFF,
     {WALL(0, 2, 10000), FAULT(0, 2, 3, SIM_FAULT_HALF_OPEN, 0), FENCED(1, 2, 1000, 0),
      RELEASE(100, 2), FAR(150, 1, 1, 2, 2), FENCED(200, 1, 1000, 0), RELEASE(300, 1), END(350)}},
    {"17-forgets-and-is-repaired",
     "A node restarts empty while a lock is held by it and another. Clients see that it is not\n"
     "the server that it was, and do not ask it for votes: the second client gets none. The\n"
     "holder extends, and the node that forgot is given the key back.",
     3,
     RL_GUARD_STRICT,
     {ACQUIRE(0, 1, 1000, 0), FAULT(200, 1, 2, SIM_FAULT_AMNESIA, 10), ACQUIRE(300, 2, 1000, 0),
      EXTEND(500, 1, 0), RELEASE(700, 1), END(750)}},
    {"18-votes-again",
     "A node that restarted empty is asked again when every lock that it may have voted for is\n"
     "over: after the longest ttl, here 1000 ms, and drift.",
     3,
     RL_GUARD_OBSERVED,
     {FAULT(0, 1, 2, SIM_FAULT_AMNESIA, 10), ACQUIRE(200, 1, 1000, 0), RELEASE(300, 1),
      ACQUIRE(1200, 1, 1000, 0), RELEASE(1300, 1), END(1350)}},
    {"22-late-conversion",
     "The extension by which a writer becomes a reader is still under way to n1, on a connection\n"
     "that was given up, when the reader tries to write again. n1 would say yes, since it has the\n"
     "token; but it is not asked, for the late extension will make the token a lease and let in\n"
     "another reader. So two nodes are out of reach, and it is not won. (The first reader is "
     "there\n"
     "for the nodes to know the script.)",
     3,
     RL_GUARD_OFF,
     {READ(0, 2, 1000, 0), EXTEND(20, 2, 0), RELEASE(40, 2), CUT(100, 1, 3, 3000),
      ACQUIRE(101, 1, 2000, 0), FAULT(300, 1, 1, SIM_FAULT_STRAY, 400), CHANGE(301, 1),
      CHANGE(450, 1), READ(800, 2, 1000, 0), RELEASE(900, 2), RELEASE(950, 1), END(1000)}},
    {"24-permits-in-turn",
     "All three permits are taken. The third client wants two, the fourth one; they wait in this\n"
     "order, and the one that becomes free first is kept for who wants two. The release of the\n"
     "other two names two to it, and the third, which is left, to the fourth client.",
     3,
     RL_GUARD_OFF,
     {STORY_OF(3), PERMITS(0, 1, 2, 2000, 50), PERMITS(20, 2, 1, 2000, 50),
      PERMITS(50, 3, 2, 2000, 50), PERMITS(60, 4, 1, 2000, 50), RELEASE(100, 2), RELEASE(200, 1),
      RELEASE(300, 3), RELEASE(350, 4), END(400)}},
    {"27-native-releases",
     "Two of four nodes are replaced by servers that have a command for a release. When they vote\n"
     "again, the first release goes to them as the script and, when that has run, once more as\n"
     "the command: a trial. The next one is the command alone. Then n3 forbids it, and the\n"
     "release is sent again at once, as the script; as is the one after that.",
     4,
     RL_GUARD_OBSERVED,
     {UPGRADE(0, 2, SERVER_DELIFEQ), UPGRADE(0, 3, SERVER_DELEX), RESTART(1, 2), RESTART(1, 3),
      ACQUIRE(1500, 1, 1000, 0), RELEASE(1550, 1), ACQUIRE(1600, 1, 1000, 0), RELEASE(1650, 1),
      FORBID(1680, 3), ACQUIRE(1700, 1, 1000, 0), RELEASE(1750, 1), ACQUIRE(1800, 1, 1000, 0),
      RELEASE(1850, 1), END(1900)}},
};

const uint32_t sim_story_count = sizeof sim_stories / sizeof sim_stories[0];
