/* A line: see server_line.h. The members are stored in the key's value, one behind the other and
 * sorted: score, length, bytes. So a copy of a key is a copy of its line. */
#include "server/server_line.h"

#include <assert.h>
#include <string.h>

#include "server/server_keys.h"

#define HEAD (sizeof(double) + sizeof(uint32_t))

size_t line_read(const struct server_key *key, size_t at, struct server_member *out) {
    const struct bytes *value = &key->value;
    uint32_t length;
    memcpy(&out->score, value->data + at, sizeof out->score);
    memcpy(&length, value->data + at + sizeof out->score, sizeof length);
    out->name = (struct resp_arg){value->data + at + HEAD, length};
    assert(at + HEAD + length <= value->length);
    return at + HEAD + length;
}

bool server_line_at(const struct server_key *key, uint32_t rank, struct server_member *out) {
    size_t at = 0;
    if (key == NULL || !key->is_line || rank >= key->elements) {
        return false;
    }
    for (uint32_t i = 0; i <= rank; i++) {
        at = line_read(key, at, out);
    }
    return true;
}

/* As a ZSET: by the score, then by the bytes. */
static bool is_before(const struct server_member *a, const struct server_member *b) {
    size_t common = a->name.length < b->name.length ? a->name.length : b->name.length;
    int order = common > 0 ? memcmp(a->name.data, b->name.data, common) : 0;
    if (a->score < b->score || a->score > b->score) {
        return a->score < b->score;
    }
    return order < 0 || (order == 0 && a->name.length < b->name.length);
}

uint32_t server_line_rank(const struct server_key *key, const struct resp_arg *name) {
    struct server_member member;
    uint32_t rank = 0;
    for (size_t at = 0; rank < key->elements; rank++) {
        at = line_read(key, at, &member);
        if (member.name.length == name->length &&
            memcmp(member.name.data, name->data, name->length) == 0) {
            break;
        }
    }
    return rank;
}

void line_add(struct server_key *key, const struct server_member *member) {
    struct server_member other;
    struct bytes *value = &key->value;
    uint32_t length = (uint32_t)member->name.length;
    size_t at = 0, next = 0;
    assert(key->is_line && member->name.length < UINT32_MAX);
    while (at < value->length) {
        next = line_read(key, at, &other);
        if (!is_before(&other, member)) {
            break;
        }
        at = next;
    }
    size_t behind = value->length - at;
    bytes_append(value, &member->score, sizeof member->score); /* makes the room */
    bytes_append(value, &length, sizeof length);
    bytes_append(value, member->name.data, length);
    memmove(value->data + at + HEAD + length, value->data + at, behind);
    memcpy(value->data + at, &member->score, sizeof member->score);
    memcpy(value->data + at + sizeof member->score, &length, sizeof length);
    memcpy(value->data + at + HEAD, member->name.data, length);
    key->elements++;
}

void line_remove(struct server_key *key, uint32_t rank) {
    struct server_member member;
    struct bytes *value = &key->value;
    bool is_there = server_line_at(key, rank, &member);
    assert(is_there);
    (void)is_there;
    size_t at = (size_t)(member.name.data - value->data) - HEAD;
    size_t length = HEAD + member.name.length;
    memmove(value->data + at, value->data + at + length, value->length - at - length);
    value->length -= length;
    key->elements--;
}

void server_put_member(struct server *server, uint32_t db, const void *key, size_t key_length,
                       const void *name, size_t length, double score) {
    struct resp_arg key_name = {key, key_length};
    struct server_member member = {{name, length}, score};
    struct server_key *line = keys_put(&server->keys, db, &key_name);
    if (!line->is_line) {
        line->is_line = true;
        line->value.length = 0;
        line->elements = 0;
    }
    line_add(line, &member);
}
