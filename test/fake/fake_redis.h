/* A small Redis without a socket: keys, scripts and the commands that a lock client sends.
 *
 * It follows Redis 7.0 for what is here: PING, AUTH, SELECT (16 databases), CLIENT SETNAME, SCRIPT
 * LOAD and FLUSH, SET with NX and PX, GET, PTTL, DEL, FLUSHALL, INFO, SUBSCRIBE and UNSUBSCRIBE
 * of one channel, PUBLISH (see fake_redis_on_publish()), and EVALSHA and EVAL of the scripts of a
 * lock, with any number of keys that a command here can have. Those are known by what they do: a
 * text with 'getrange' in it tells who holds a key, one with 'pexpire' compares and extends, one
 * with 'set' sets all keys or none, one with 'del' compares and deletes, and announces it if there
 * is 'publish' in it. Everything else is answered with Redis's error.
 *
 * Time is an argument, in nanoseconds of any clock that never goes back. A key is gone once its
 * time is reached. */
#ifndef FAKE_REDIS_H
#define FAKE_REDIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fake/bytes.h"
#include "fake/fake_channels.h"
#include "fake/resp.h"

#define FAKE_REDIS_DATABASES 16

struct fake_redis;

struct fake_session { /* what a connection has set for itself; {0} at its beginning */
    uint32_t db;
    bool authenticated;
    char name[65];
    struct fake_channels channels;
};

struct fake_redis *fake_redis_new(void);
void fake_redis_free(struct fake_redis *redis);

/* Who is to carry a published message to the connections that listen; it returns how many do. */
typedef size_t fake_publish(void *data, const struct resp_arg *channel,
                            const struct resp_arg *payload);
void fake_redis_on_publish(struct fake_redis *redis, fake_publish *publish, void *data);

/* Runs one command and appends its reply. */
void fake_redis_execute(struct fake_redis *redis, struct fake_session *session,
                        const struct resp_command *command, uint64_t now_ns, struct bytes *reply);

/* From now on every new session must say AUTH password (user "default") or AUTH user password.
 * password NULL: nobody has to. */
void fake_redis_set_password(struct fake_redis *redis, const char *user, const char *password);

/* Changes or adds one line of INFO. */
void fake_redis_set_info(struct fake_redis *redis, const char *field, const char *value);

/* What is stored. Keys may hold any bytes; the value found is valid until the next command. */
size_t fake_redis_keys(const struct fake_redis *redis, uint64_t now_ns);
const char *fake_redis_get(const struct fake_redis *redis, uint32_t db, const void *key,
                           size_t length, uint64_t now_ns);
void fake_redis_put(struct fake_redis *redis, uint32_t db, const void *key, size_t length,
                    const char *value, uint64_t expires_ns); /* UINT64_MAX: never */
void fake_redis_forget_keys(struct fake_redis *redis);
void fake_redis_forget_scripts(struct fake_redis *redis);

#endif /* FAKE_REDIS_H */
