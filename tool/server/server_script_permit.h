/* What the scripts of a semaphore share, in C: its number, its slots, its line. */
#ifndef SERVER_SERVER_SCRIPT_PERMIT_H
#define SERVER_SERVER_SCRIPT_PERMIT_H

#include "server/server_script_line.h"

#define TAKE_MAX 256
#define MGET "redis.call('mget'"

struct permit {
    struct script_run *run;
    struct resp_arg resource;
    struct text key; /* of the number */
    struct text line;
    bool is_readable; /* the slots, by MGET */
};

struct picked {
    uint32_t slot[TAKE_MAX];
    uint32_t n;
};

/* Each is the function of that name in the scripts. True of permit_disagree(): it is over. */
struct permit permit_of(struct script_run *run);
const char *permit_refusal(const struct permit *p, const char *command);
const struct server_key *permit_slot(const struct permit *p, uint32_t slot);
bool permit_slot_has(const struct permit *p, uint32_t slot, const struct text *value);
uint32_t permit_number(const struct resp_arg *text);
uint32_t permit_kept(const struct permit *p, const struct resp_arg *otherwise);
void permit_keep(const struct permit *p, const struct resp_arg *k);
bool permit_disagree(const struct permit *p, uint32_t k);
uint32_t permit_wants(const struct text *member);
bool permit_pick(const struct permit *p, uint32_t k, uint32_t n, uint32_t from,
                 const struct text *mine, struct picked *out);
void permit_reserve(const struct permit *p, const struct picked *picked,
                    const struct resp_arg *place, const struct resp_arg *ms);
/* As permit_reserve(), any value, at this place of the script. */
void permit_set(const struct permit *p, const char *at, const struct picked *picked,
                const struct resp_arg *value, const struct resp_arg *ms);
size_t permit_write(const struct permit *p, const struct picked *picked, char *text, size_t size);
bool permit_serve(const struct permit *p, uint32_t k, const struct resp_arg *ms,
                  const struct text *me);
bool permit_give_up(const struct permit *p, uint32_t k, const struct text *mine);
void permit_answer(struct script_run *run, const char *text);
bool permit_breaks(const struct permit *p, enum server_permits_broken broken);

#endif
