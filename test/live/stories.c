/* See stories.h. */
#include "live/stories.h"

const struct story stories[] = {
    /* -- One resource, and those who are not ours -- */
    {"a lock is on all nodes, extended, released, and held again with another token",
     "a: key holder=me; b: key @1; c: key; a over; a acquire; a valid; a on 5;"
     "b acquire HELD; b over; a extend; a on 5; a voted GRANTED 5; life 15000-30000 4 key;"
     "a release; a over; a release NOT_HELD; c acquire; a acquire HELD; a unlike c; c release;"
     "a acquire; a unlike c; a acquire ALREADY_HELD"},
    {"a stranger has two nodes: it keeps them, and its ttl",
     "a: key; nodes 0-1 SET key stranger PX 500000; a acquire; a voted REFUSED 2; a extend;"
     "a voted REFUSED 2; a on 3; a release; value stranger 2 key; life 400000-500000 0 key;"
     "nodes 0-1 DEL key"},
    {"a stranger has three nodes: nothing is left on the others",
     "a: key; nodes 0-2 SET key stranger PX 500000; a acquire HELD; a on 0;"
     "value stranger 3 key; nodes 0-2 DEL key"},
    {"keys of another type refuse, and fail an extension",
     "a: key; nodes 0-1 RPUSH key x; a acquire; a voted REFUSED 2; a extend; a voted FAILED 2;"
     "a says not a string; a release; nodes 0-4 EXPIRE key 0; nodes 0-4 FLUSHALL"},
    {"stolen by a client that deletes the key: found by the next extension",
     "a: key; a acquire; nodes 0-2 SET key thief PX 500000; a valid; a extend LOST; a lost LOST;"
     "a over; value thief 3 key; a release LOST; a release NOT_HELD; nodes 0-2 DEL key"},

    {"a replica whose key lives for longer says no, and shortens nothing",
     "a: x; b: y,z; c: v,w fenced; a acquire; b acquire; c acquire; node 0 PEXPIRE x 60000;"
     "node 0 PEXPIRE y 60000; node 0 PEXPIRE z 60000; node 0 PEXPIRE v 60000;"
     "node 0 PEXPIRE w 60000; node 0 REPLICAOF 127.0.0.1 1; a extend; a voted FAILED 1;"
     "a says read-only replica; b extend; b voted FAILED 1; c extend; c voted FAILED 1;"
     "node 0 REPLICAOF NO ONE; a extend; a voted GRANTED 5; life 30001-60000 0 x; b extend;"
     "b voted GRANTED 5; life 30001-60000 0 y; c extend; c voted GRANTED 5; life 30001-60000 0 v"},
    {"full memory hinders no extension and no release",
     "a: key; a acquire; nodes 0-4 CONFIG SET maxmemory 1; a extend; a voted GRANTED 5; a release;"
     "a voted GRANTED 5; nodes 0-4 CONFIG SET maxmemory 0"},
    {"the release of an attempt that lost is sent whole, where it was forgotten",
     "a: key; nodes 0-2 SET key stranger PX 500000; nodes 0-4 SCRIPT FLUSH; a acquire HELD; a on 0;"
     "value stranger 3 key; nodes 0-2 DEL key"},

    /* -- What is said -- */
    {"a lock in line says behind whom it stands",
     "h: w1; a: w1; b: w1 wait=30; h acquire; a asks;"
     "a says in line behind another lock of this client; a cancel; a gets CANCELED;"
     "a says canceled; b asks; b gets DEADLINE;"
     "b says the deadline passed: in line behind another lock of this client; b acquire HELD;"
     "b says held by another: in line behind another lock of this client; h release; b acquire;"
     "b release; b says success: ; h acquire; b asks; b gets DEADLINE;"
     "b says the deadline passed: in line behind another lock of this client"},
    {"who is known to be behind others joins without a SET, and says so",
     "h: w2 @1; a: w2; b: w2 @1 wait=50; h acquire; a asks; h release; a gets; b asks;"
     "b gets DEADLINE; b says the deadline passed: in line behind other clients"},
    {"an owner's objects say what they share",
     "a: w3 owner=7; b: w3 owner=7; a acquire; b acquire;"
     "b says success: it shares its owner's hold; b acquire; a extend;"
     "b says success: 5 of 5 renewed, 3 needed; b release;"
     "b says success: it was acquired more than once and is still held; b disown BUSY;"
     "b says in use: it was acquired more than once, or other objects share it; b release;"
     "b says success: its owner still holds it through another object; b acquire; a release;"
     "a owner 8; a acquire BUSY;"
     "a says in use: it was released, but other objects of its owner still share its hold;"
     "b release; b says of 5 deleted, 3 needed"},
    {"a loss by the clock is none by the nodes",
     "a: w4 max=2000; b: w4 ttl=2000; c: w4; a acquire; a lost MAX_HOLD;"
     "a says the maximum hold time is over: 5 of 5 granted; a release LOST;"
     "a says the lock was lost: the maximum hold time is over; b acquire; b lost EXPIRED;"
     "b says validity ran out: 5 of 5 granted; b release LOST;"
     "b says the lock was lost: validity ran out; c acquire; nodes 0-4 DEL w4; c extend LOST;"
     "c lost LOST; c says the lock was lost: 0 of 5 renewed, 3 needed; c release LOST;"
     "c says the lock was lost: 0 of 5 renewed, 3 needed"},

    /* -- By the token -- */
    {"a lock is handed on by its token",
     "a: key; b: key @1; a acquire; a disown; a over; a disown NOT_HELD; b adopts a; b valid;"
     "b like a; b on 5; b adopts a ALREADY_HELD; b extend; b release"},
    {"who knows the token ends it",
     "a: key; b: key @1; a acquire; b ends a; b voted GRANTED 5; a extend LOST; a lost LOST"},
    {"the token is compared with the holder's name",
     "a: x,y holder=me; b: x,y @1; c: y,x holder=me @1; a acquire; a on 5; a disown;"
     "b adopts a LOST; c adopts a; c extend; c release"},

    /* -- Several resources: all or none -- */
    {"a stranger's key refuses the whole lock, on that node",
     "a: x,y,z; node 0 SET x stranger; node 1 SET z stranger PX 500000; a acquire; a extend;"
     "a voted REFUSED 2; a on 3; a release; value stranger 1 x; life 400000-500000 1 z;"
     "nodes 0-4 FLUSHALL"},
    {"so does a key of another type, before any is set",
     "a: x,y,z; node 0 RPUSH z e; node 1 RPUSH x e; a acquire; a voted FAILED 2; a on 3;"
     "a extend; a release; node 2 RPUSH y e; a acquire NO_QUORUM; a on 0; nodes 0-4 FLUSHALL"},
    {"one key that is gone is a node that must be repaired",
     "a: x,y,z; a acquire; node 1 DEL y; node 1 PEXPIRE x 20000; a extend; a voted REFUSED 1;"
     "a on 5; life 20001-30000 1 x; nodes 0-2 DEL z; a extend LOST; a lost LOST"},
    {"an extension shortens nothing, and a release deletes what it can",
     "a: x,y; a acquire; node 0 PEXPIRE x 500000; node 1 PERSIST y; a extend;"
     "life 400000-500000 0 x; life 15000-30000 1 y; node 0 DEL x; node 0 RPUSH x e;"
     "node 1 SET y stranger; a release; a voted GRANTED 5; value stranger 1 y;"
     "nodes 0-4 FLUSHALL"},

    /* -- Fences -- */
    {"counters that differ are raised, on nodes where TIME is forbidden as well",
     "a: key fenced; b: key fenced; node 0 SET libredlock:fence:key 8000000000000000;"
     "node 1 SET libredlock:fence:key 8000000000000005;"
     "node 2 SET libredlock:fence:key 8000000000000009; nodes 0-4 ACL SETUSER default -time;"
     "a acquire; a voted FAILED 0; a release; nodes 0-4 ACL SETUSER default +time; b acquire;"
     "b above a"},
    {"several resources have one fence",
     "a: key fenced; b: key,other fenced; c: key fenced; a acquire; a release;"
     "nodes 0-4 SET libredlock:fence:other 8000000000000000; b acquire; b above a; b release;"
     "c acquire; c above b"},
    {"what is no counter is no vote, and no key is left",
     "a: key fenced; nodes 0-2 SET libredlock:fence:key eleven; a acquire NO_QUORUM;"
     "a says is not the counter of a fence; a on 0; nodes 0-2 SET libredlock:fence:key -1;"
     "a acquire NO_QUORUM; nodes 0-2 DEL libredlock:fence:key; a acquire"},
    {"no other node follows a counter to its end",
     "a: key fenced; b: key fenced; node 0 SET libredlock:fence:key 9007199254740980;"
     "a acquire; a release; b acquire; b above a; b below 9000000000000000"},
    {"forgotten scripts are sent whole, fences included",
     "a: key fenced; b: key fenced; a acquire; nodes 0-4 SCRIPT FLUSH; a extend;"
     "a voted GRANTED 5; nodes 0-4 SCRIPT FLUSH; a release; nodes 0-4 SCRIPT FLUSH;"
     "b acquire; b above a; b voted GRANTED 5"},
    {"a counter of another library is another key",
     "a: key fenced; nodes 0-4 SET redlock:fence:key theirs; a acquire; a extend; a release;"
     "value theirs 5 redlock:fence:key; nodes 0-4 FLUSHALL"},

    /* -- Readers and writers -- */
    {"readers hold side by side, and beside no writer, of whatever library",
     "a: shared key; b: shared key; c: shared key @1; w: key @1; v: key; a acquire; b acquire;"
     "c acquire; a unlike b; c on 5; value redlock:shared 5 key; w acquire HELD; v acquire HELD;"
     "a release; c release; w acquire HELD; b release; w acquire; a acquire HELD;"
     "c acquire HELD; w release; nodes 0-2 SET key stranger PX 60000; a acquire HELD;"
     "nodes 0-2 DEL key"},
    {"a lease has a life of its own, and is repaired",
     "a: shared key; b: shared key; a acquire; b acquire; nodes 3-4 FLUSHALL; a extend; a on 5;"
     "b on 3; b extend; b on 5; nodes 0-4 FLUSHALL; a extend LOST; a lost LOST;"
     "b extend LOST; b lost LOST"},
    {"a lease goes by its token",
     "a: shared key; b: shared key @1; a acquire; a disown; b adopts a; b upgrade INVALID;"
     "b says adopted; b disown; a ends b"},
    {"readers that follow one writer have its fence",
     "w: key fenced; a: shared key fenced; b: shared key fenced; v: key fenced; w acquire;"
     "w release; a acquire; b acquire; a level w; b level w; a release; b release; v acquire;"
     "v above a"},
    {"a writer becomes a reader",
     "a: key; w: key @1; r: shared key @1; a acquire; r acquire HELD; a downgrade; a valid;"
     "a on 5; a downgrade INVALID; w acquire HELD; r acquire; a release; w acquire HELD;"
     "r release; a acquire; w acquire HELD"},
    {"a reader becomes the writer when it is alone",
     "a: shared key; b: shared key @1; a upgrade NOT_HELD; a acquire; b acquire;"
     "a upgrade HELD; a valid; b upgrade WOULD_DEADLOCK; b valid; b release; a upgrade; a on 5;"
     "a upgrade INVALID; b acquire HELD; a extend; a downgrade; b acquire"},
    {"an upgrade in vain lets the others in again",
     "a: shared key; b: shared key @1; a acquire; b acquire; nodes 0-1 DEL key; a extend;"
     "a upgrade HELD; a on 5; value redlock:shared 5 key; b extend; b on 5"},
    {"a refused downgrade is made good by the next extension",
     "a: key; a acquire; nodes 0-2 CONFIG SET maxmemory 1; a downgrade UNKNOWN;"
     "nodes 0-2 CONFIG SET maxmemory 0; a extend; value redlock:shared 5 key; a upgrade"},
    {"a lease that a node may not look up is not released there",
     "a: shared key ttl=1000; b: shared key ttl=3000 @1; a acquire; b acquire;"
     "nodes 0-2 ACL SETUSER default -zscore; a release NO_QUORUM;"
     "nodes 0-2 ACL SETUSER default +zscore; b release"},
    {"no reader of y waits for one that waits for x",
     "w: x; b: shared x,y; r: shared y; w acquire; b asks; r acquire; b waits; w release; b gets"},

    /* -- Owners -- */
    {"a hold lasts for as long as an object of its owner uses it",
     "a: key owner=7; b: key owner=7; c: key owner=8; d: key; a acquire; b acquire; a like b;"
     "c acquire HELD; d acquire HELD; a release; a over; a release NOT_HELD; b valid; b on 5;"
     "b extend; c acquire HELD; b release; c acquire"},
    {"an object that is acquired twice is released twice",
     "a: key owner=7; b: key; a acquire; a acquire; a disown BUSY; a release; a valid;"
     "b acquire HELD; a release; b acquire; a release NOT_HELD"},
    {"an owner's objects join from the line, and others wait",
     "a: key owner=7; b: key owner=7; c: key owner=8; a: key owner=7; c acquire; a asks; b asks;"
     "a waits; c release; a gets; b gets; a like b; a release; b valid; b on 5"},
    {"a shared hold has one fence",
     "a: key owner=7 fenced; b: key owner=7; c: key owner=7 fenced; b acquire; b unfenced;"
     "a acquire ALREADY_HELD; a says has no fence: set fencing; b release; a acquire; b acquire;"
     "b level a; a release; c acquire; c level b; nodes 0-4 DEL key; b extend LOST; b lost LOST;"
     "c lost LOST; c level a"},
    {"who waits for a fence does not join a hold without one",
     "a: key owner=7; b: key owner=7 fenced; c: key owner=8; c acquire; a asks; b asks; c release;"
     "a gets; b gets ALREADY_HELD; b says has no fence: set fencing; b unfenced; b over; a release;"
     "b acquire"},
    {"a loss is told to all objects, and a release that follows says it",
     "a: key owner=7 ttl=600; b: key owner=7 ttl=600; a acquire; b acquire; a lost EXPIRED;"
     "b lost EXPIRED; a over; b release LOST; b release NOT_HELD; b acquire; a over;"
     "a release LOST; b release"},
    {"the last object of an owner hands the lock on",
     "a: key owner=7; b: key owner=7; c: key @1; a acquire; b acquire; a disown BUSY; b disown "
     "BUSY; a release;"
     "b disown; b over; b free; a free; c adopts b"},
    {"an object goes by every way, and the other holds on",
     "a: key owner=7; b: key owner=7; c: key; a acquire; b acquire; a free; b valid; b on 5;"
     "c acquire HELD; b free; c acquire"},
    {"an owner that reads does not wait for itself to write",
     "w: key owner=7; v: key owner=7; a: shared key owner=7; b: shared key owner=7; w acquire;"
     "a acquire; a like w; w downgrade BUSY; w release; a release; a acquire; b acquire;"
     "a like b; v acquire WOULD_DEADLOCK; v says wait for itself"},
    {"an object that has one owner's hold is not another's",
     "a: shared key owner=7; b: shared key owner=7; c: shared key owner=8; a acquire; b acquire;"
     "a release; c acquire; a acquire; a release; b release; a unlike c"},

    /* -- Permits -- */
    {"permits are different slots, and one of them is free again after a release",
     "a: 1of3 key; b: 1of3 key @1; c: 1of3 key; d: 1of3 key @1; l: key @1; a acquire;"
     "b acquire; c acquire; a slot 0; b slot 1; c slot 2; a on 5; b on 5; c on 5;"
     "d acquire HELD; d slot -1; d says no permit is free; l acquire; b release; b slot 1;"
     "d acquire; d slot 1"},
    {"another number of permits is refused while there is a holder",
     "a: 1of5 key; b: 1of3 key @1; a acquire; b acquire PERMITS;"
     "b says has another number of permits: 5, and this lock is of 3; b asks; b gets PERMITS;"
     "a release; b acquire; a acquire PERMITS"},
    {"a raised number has new slots at once; a lowered one gives those above no more",
     "a: 1of2 key; b: 1of2 key; c: 1of4 key; d: 1of4 key; e: 1of2 key; f: 1of3 key; a acquire;"
     "b acquire; permits 4; c acquire; d acquire; a extend; a release; a acquire PERMITS;"
     "permits 2; a acquire; a slot 0; c release; e acquire HELD; b release; e acquire; e slot 1;"
     "a release; e release; f acquire PERMITS; d release; f acquire"},
    {"who waits with the number of before is told",
     "a: 1of1 key; b: 1of1 key @1; c: 1of2 key @1; a acquire; b asks; b waits; permits 2;"
     "b gets PERMITS; c acquire; c slot 1"},
    {"a permit that a node may not look up is not released there",
     "a: 1of3 key ttl=1000; a acquire; nodes 0-2 ACL SETUSER default -get; a release NO_QUORUM;"
     "nodes 0-2 ACL SETUSER default +get"},
    {"permits have fences, owners and tokens as locks have",
     "a: 1of3 key fenced owner=7; b: 1of3 key fenced owner=7; c: 1of3 key fenced;"
     "d: 1of3 key @1; e: 1of3 key; a acquire; b acquire; b like a; b level a; a release;"
     "b release; c acquire; c above a; c release; e acquire; e disown; d adopts e; d slot 0;"
     "d on 5; d disown; e ends d"},
};

const size_t stories_count = sizeof stories / sizeof stories[0];
