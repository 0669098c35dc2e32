/* See stories.h. */
#include "conform/stories.h"

#include <string.h>

#include "conform/stories_attempt.h"
#include "conform/stories_grant.h"
#include "conform/stories_hold.h"
#include "conform/stories_time.h"
#include "conform/stories_together.h"
#include "conform/stories_wire.h"

const struct rl_story rl_stories[] = {
    {"grant", "five nodes are up, the key is free", rl_play_grant, false},
    {"release", "a lock that is held is released", rl_play_release, false},
    {"key", "the key has braces, percent signs and UTF-8 in it", rl_play_key, false},
    {"ttl", "a ttl that is no whole second", rl_play_ttl, false},
    {"atomic", "value and life of the key come in one step", rl_play_atomic, false},
    {"held", "another holder has the key everywhere", rl_play_held, false},
    {"one-down", "one node refuses connections", rl_play_one_down, false},
    {"two-down", "two nodes refuse connections", rl_play_two_down, false},
    {"three-down", "three nodes refuse connections", rl_play_three_down, false},
    {"minority-held", "another holder has the key on two nodes", rl_play_minority_held, false},
    {"majority-held", "another holder has the key on three nodes", rl_play_majority_held, false},
    {"lost-vote", "a node sets the key, its answer is lost, and the attempt fails",
     rl_play_lost_vote, false},
    {"lost-vote-held", "a node sets the key, its answer is lost, and the lock is granted",
     rl_play_lost_vote_held, false},
    {"duplicates", "three of the URLs lead to one server, the others are down", rl_play_duplicates,
     true},
    {"at-once", "every node takes a while to answer", rl_play_at_once, false},
    {"token", "the tokens of ten acquires are compared", rl_play_token, false},
    {"fresh-token", "the first attempt is refused, a later one is not", rl_play_fresh_token, false},
    {"between-tries", "... and is not in the way of the next one", rl_play_between_tries, false},
    {"tries", "three attempts are allowed, and all are refused", rl_play_tries, false},
    {"pauses", "the pauses between attempts are compared", rl_play_pauses, false},
    {"drift", "what is reported of a long ttl", rl_play_drift, false},
    {"slow-votes", "three nodes answer late, within the ttl", rl_play_slow_votes, false},
    {"too-late", "three nodes answer when the ttl is over", rl_play_too_late, false},
    {"stopped-client", "the client is stopped between asking and counting", rl_play_stopped_client,
     false},
    {"silent", "one node takes commands and never answers", rl_play_silent, false},
    {"three-silent", "three nodes take commands and never answer", rl_play_three_silent, false},
    {"late-answers", "answers come while the next key is asked for", rl_play_late_answers, false},
    {"asleep", "a node hangs, and then runs what was sent to it", rl_play_asleep, false},
    {"slow-release", "two nodes answer a release late or never", rl_play_slow_release, false},
    {"extend", "a lock that is held is extended", rl_play_extend, false},
    {"extend-late", "three nodes answer an extension late", rl_play_extend_late, false},
    {"extend-shorter", "an extension with less time than is left", rl_play_extend_shorter, false},
    {"extend-other", "another got the key on three nodes before the extension",
     rl_play_extend_other, false},
    {"extend-atomic", "another gets the key between a look and a write", rl_play_extend_atomic,
     false},
    {"extend-minority", "only two nodes take the extension", rl_play_extend_minority, false},
    {"extend-gone", "the lock has ended before the extension", rl_play_extend_gone, false},
    {"release-other", "the lock has ended, and another has it, before the release",
     rl_play_release_other, false},
    {"release-atomic", "another gets the key between a look and a delete", rl_play_release_atomic,
     false},
    {"noscript", "the nodes forget their scripts while the lock is held", rl_play_noscript, false},
    {"restart", "one node restarts without its keys while the lock is held", rl_play_restart,
     false},
    {"loading", "nodes answer LOADING", rl_play_loading, false},
    {"readonly", "nodes answer READONLY", rl_play_readonly, false},
    {"oom", "nodes answer OOM", rl_play_oom, false},
    {"noauth", "nodes answer NOAUTH", rl_play_noauth, false},
    {"noperm", "nodes answer NOPERM", rl_play_noperm, false},
    {"misconf", "nodes answer MISCONF", rl_play_misconf, false},
    {"fragments", "every answer comes byte by byte", rl_play_fragments, false},
    {"cut", "connections are closed in the middle of an answer", rl_play_cut, false},
    {"reconnect", "all connections are closed while nothing is asked", rl_play_reconnect, false},
    {"two-keys", "one client holds two keys", rl_play_two_keys, false},
    {"two-clients", "two clients ask for one key, one after the other", rl_play_two_clients, false},
    {"contend", "two clients ask for one key at once, four times", rl_play_contend, false},
    {"readers", "libredlock's readers hold the key", rl_play_readers, false},
    {"reserved", "libredlock has reserved the key for another client", rl_play_reserved, false},
    {"guard", "three nodes restart without their keys while the lock is held", rl_play_guard,
     false},
    {"fence", "whether a grant has a fence", rl_play_fence, false},
    {"line", "whether a client that waits stands in line", rl_play_line, false},
};
const size_t rl_stories_size = sizeof rl_stories / sizeof rl_stories[0];

const struct rl_story *rl_story_find(const char *name) {
    for (size_t i = 0; i < rl_stories_size; i++) {
        if (strcmp(rl_stories[i].name, name) == 0) {
            return &rl_stories[i];
        }
    }
    return NULL;
}
