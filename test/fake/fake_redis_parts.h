/* What fake_redis.c and fake_redis_setup.c share. Others include fake_redis.h only. */
#ifndef FAKE_REDIS_PARTS_H
#define FAKE_REDIS_PARTS_H

#include "fake/fake_keys.h"
#include "fake/fake_redis.h"
#include "fake/sha1.h"

#define SCRIPTS_MAX 8
#define INFO_MAX 16

enum script_kind { SCRIPT_NONE, SCRIPT_DELETE, SCRIPT_EXTEND, SCRIPT_SET, SCRIPT_READ };

struct script {
    char sha1[SHA1_HEX_SIZE];
    enum script_kind kind;
    bool announces;
};

struct info {
    char field[32], value[64];
};

struct fake_redis {
    struct fake_keys keys;
    struct script scripts[SCRIPTS_MAX];
    size_t n_scripts;
    struct info info[INFO_MAX];
    size_t n_info;
    char user[64], password[128]; /* password "": none is needed */
    fake_publish *publish;
    void *publish_data;
};

#endif /* FAKE_REDIS_PARTS_H */
