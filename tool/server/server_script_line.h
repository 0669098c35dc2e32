/* What the library's scripts do with lines, in C: their parts (part_*.lua), and texts.
 *
 * All but what says so is by redis.pcall(), and cannot end the script: a refusal, or a key of
 * another type, is nobody in the line, and nobody who hears. */
#ifndef SERVER_SERVER_SCRIPT_LINE_H
#define SERVER_SERVER_SCRIPT_LINE_H

#include "server/server_line.h"
#include "server/server_parts.h"

/* A text of its own: what is in the keys moves. */
struct text {
    char data[1200];
    size_t length;
};

bool script_breaks(const struct script_run *run, enum server_broken broken);

struct text text_of(const char *prefix, const struct resp_arg *name, const char *suffix);
struct resp_arg text_arg(const struct text *text);
bool is_text(const struct resp_arg *a, const struct text *b);
bool is_word(const struct resp_arg *a, const char *word);

/* string.sub(name, 1, length) */
struct resp_arg front_of(const struct resp_arg *name, size_t length);

/* "libredlock:line:{r}"; the same of readers; "reserved:" and the place; the place and its holder;
 * "libredlock:client:" and the client. */
struct text line_name(const struct resp_arg *resource);
struct text line_shared_name(const struct resp_arg *resource);
struct text reservation_of(const struct resp_arg *member);
struct text member_of(const struct resp_arg *place, const struct resp_arg *holder);
struct text channel_of(const struct text *member);

/* Why a command on the line fails, without '-', or NULL; then *key is the line, NULL if there is
 * none. */
const char *line_open(struct script_run *run, const char *command, const struct text *line,
                      struct server_key **key);

/* redis.pcall() of EXISTS says 0. */
bool script_none_exists(struct script_run *run, const struct resp_arg *names, size_t count);

bool line_first(struct script_run *run, const struct text *line, struct text *out);
const char *line_drop(struct script_run *run, const struct text *line, const struct text *member,
                      bool *was_there);

/* How many connections listen, as PUBSUB NUMSUB says; -1: it must not be asked. */
int count_listeners(struct script_run *run, const struct text *channel);

/* word: "turn ", "shut ", "heir ". */
bool line_tell(struct script_run *run, const struct text *member, const char *word);

/* was, me: NULL for nobody. */
void line_heir(struct script_run *run, const struct text *line, const struct text *was,
               const struct text *me);

/* The SET is a redis.call(): the script may be over. */
bool line_serve(struct script_run *run, const struct resp_arg *name, const struct text *line,
                const struct resp_arg *ms);

/* All readers that wait; is: the key stays as it is. Whether one heard it. The same of the SET. */
bool line_serve_shared(struct script_run *run, const struct resp_arg *name,
                       const struct resp_arg *ms, bool is);

struct count {
    double waiting, first_ms;
};

void line_count(struct script_run *run, const struct text *line, struct count *count);

/* For how long, in ms; the clock may have stepped. */
double waited_ms(const struct script_run *run, double score);

#endif
