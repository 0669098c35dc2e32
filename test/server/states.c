/* See states.h. */
#include "server/states.h"

#include <assert.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

static void become_full(struct pair *pair, bool is) {
    pair_tell(pair, "CONFIG SET maxmemory %d", is ? 1 : 0);
    pair->ours->is_full = is;
    pair->ours->maxmemory = is ? 1 : 0;
}

/* A folder that is not empty takes the file's name. */
static void take_name(struct pair *pair, bool is) {
    char path[256];
    redisReply *reply = redisCommand(pair->control, "CONFIG GET dir");
    assert(reply != NULL && reply->elements == 2);
    for (int i = 0; i < 2; i++) { /* from outermost to innermost, and back */
        snprintf(path, sizeof path, "%s/folder%s", reply->element[1]->str, is == i ? "/in" : "");
        if (is) {
            mkdir(path, 0700);
        } else {
            rmdir(path);
        }
    }
    freeReplyObject(reply);
}

static void become_unable_to_save(struct pair *pair, bool is) {
    take_name(pair, is);
    pair_tell(pair, "CONFIG SET save %s", is ? "3600 1" : "");
    if (is) {
        pair_tell(pair, "BGSAVE");
        while (!pair_info_says(pair, "rdb_last_bgsave_status:err") ||
               !pair_info_says(pair, "rdb_bgsave_in_progress:0")) {
        }
    }
    pair->ours->cannot_save = is;
}

static void become_alone(struct pair *pair, bool is) {
    pair_tell(pair, "CONFIG SET min-replicas-to-write %d", is ? 1 : 0);
    pair->ours->is_alone = is;
}

/* A replica without a reachable primary keeps its keys. */
static void become_replica(struct pair *pair, bool is) {
    pair_tell(pair, is ? "REPLICAOF 127.0.0.1 1" : "REPLICAOF NO ONE");
    pair->ours->is_replica = is;
}

static void become_stale(struct pair *pair, bool is) {
    become_replica(pair, is);
    pair_tell(pair, "CONFIG SET replica-serve-stale-data %s", is ? "no" : "yes");
    pair->ours->is_stale = is;
    pair->is_blind = is;
}

static redisContext *busy;

static void become_busy(struct pair *pair, bool is) {
    redisReply *reply;
    if (is) {
        pair_tell(pair, "CONFIG SET lua-time-limit 1");
        busy = pair_control(pair, 0, NULL);
        redisAppendCommand(busy, "EVAL %s 0", "while true do end");
        int done = 0;
        while (!done) {
            redisBufferWrite(busy, &done);
        }
        do {
            reply = redisCommand(pair->control, "PING");
            done = reply->type == REDIS_REPLY_ERROR;
            freeReplyObject(reply);
        } while (done != 1);
    } else {
        pair_tell(pair, "SCRIPT KILL");
        if (redisGetReply(busy, (void **)&reply) == REDIS_OK) {
            freeReplyObject(reply);
        }
        redisFree(busy);
    }
    pair->ours->is_busy = pair->is_blind = is;
}

/* Loads many slow keys, until the state ends. */
static void become_loading(struct pair *pair, bool is) {
    redisReply *reply;
    if (is) {
        pair_tell(pair, "SELECT 9");
        pair_tell(pair, "DEBUG POPULATE 50000 bulk 100");
        pair_tell(pair, "CONFIG SET key-load-delay 400 loading-process-events-interval-bytes 1024");
        busy = pair_control(pair, 0, NULL);
        int done = 0;
        redisAppendCommand(busy, "DEBUG RELOAD");
        while (!done) {
            redisBufferWrite(busy, &done);
        }
        while (!pair_info_says(pair, "\nloading:1")) {
        }
    } else {
        if (pair->problem[0] == '\0' && !pair_info_says(pair, "\nloading:1")) {
            snprintf(pair->problem, sizeof pair->problem, "it did not load for long enough");
        }
        pair_tell(pair, "CONFIG SET key-load-delay 0");
        if (redisGetReply(busy, (void **)&reply) == REDIS_OK) {
            freeReplyObject(reply);
        }
        redisFree(busy);
        pair_tell(pair, "FLUSHALL");
        server_forget_keys(pair->ours);
    }
    pair->ours->is_loading = pair->is_blind = is;
}

const struct server_state server_states[SERVER_STATES] = {
    {"a server that is full", become_full, true},
    {"a server that cannot save", become_unable_to_save, false},
    {"a server without enough replicas", become_alone, true},
    {"a replica", become_replica, true},
    {"a replica without its primary", become_stale, false},
    {"a server that runs a script", become_busy, false},
    {"a server that loads", become_loading, false},
};
