/* Tests as texts: events in, effects out. A file of stories looks like this:
 *
 *     = The title of a story
 *     acquire tries=1; attempt -> ready: token, wake 250 / trying: set 012 for 10000
 *     @40 no 0 1
 *         -> idle: release 012, acquired HELD
 *
 * Each line has events, and behind an arrow, beside or below it, all that came of them; an event
 * may have a time, in ms since the story began. The program runs the events and must come to the
 * same effects. "PROGRAM FILE... --write" writes those that it has come to: read what changed
 * before it is committed. Two events are known everywhere: `mark` keeps the world as it is, and
 * `back` goes back to that moment. A line that begins with # is a comment. */
#ifndef UNIT_STORIES_H
#define UNIT_STORIES_H

#include "unit/check.h"

#define STORIES_MAX 200
#define STORY_LINE_MAX 1024
#define ARROW " -> "
#define STORY_WIDTH 100u /* of a line */

/* The words of one event. */
struct words {
    char text[STORY_LINE_MAX];
    const char *word[32];
    size_t count;
};

/* The effects of an event: a line each. */
struct effects {
    char text[4 * STORY_LINE_MAX];
};

/* The subject of a program's stories. */
struct teller {
    void *world, *marked;
    size_t size; /* of the world */
    void (*begin)(void *world);
    void (*moved)(void *world); /* adjusts the world's own pointers after a copy; NULL: it has
                                   none */
    void (*event)(void *world, const struct words *words, struct effects *effects);
};

/* -- For events -- */

static inline void tells(struct effects *effects, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline void tells(struct effects *effects, const char *format, ...) {
    const size_t used = strlen(effects->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(effects->text + used, sizeof effects->text - used, format, arguments);
    va_end(arguments);
}

/* The text after "NAME=", or NULL. */
static inline const char *word_of(const struct words *words, const char *name) {
    const size_t length = strlen(name);
    for (size_t i = 1; i < words->count; i++) {
        if (strncmp(words->word[i], name, length) == 0 && words->word[i][length] == '=') {
            return words->word[i] + length + 1;
        }
    }
    return NULL;
}

static inline bool has_word(const struct words *words, const char *name) {
    bool found = false;
    for (size_t i = 1; i < words->count; i++) {
        found = found || strcmp(words->word[i], name) == 0;
    }
    return found;
}

/* A number of any size; "max" is the largest. */
static inline uint64_t number_of(const struct words *words, const char *name, uint64_t otherwise) {
    const char *text = word_of(words, name);
    if (text == NULL) {
        return otherwise;
    }
    return strcmp(text, "max") == 0 ? UINT64_MAX : strtoull(text, NULL, 0);
}

/* Milliseconds, with up to six decimals, in ns. */
static inline uint64_t ns_of(const char *text) {
    char *end;
    uint64_t ns = strtoull(text, &end, 10) * MS;
    uint64_t unit_ns = MS / 10;
    for (end += *end == '.'; *end >= '0' && *end <= '9'; end++, unit_ns /= 10) {
        ns += (uint64_t)(*end - '0') * unit_ns;
    }
    return ns;
}

static inline void tells_ms(struct effects *effects, uint64_t ns) {
    char fraction[8];
    snprintf(fraction, sizeof fraction, ".%06u", (unsigned)(ns % MS));
    for (size_t last = 6; last > 0 && fraction[last] == '0'; last--) {
        fraction[last] = '\0';
    }
    tells(effects, "%llu%s", (unsigned long long)(ns / MS), ns % MS != 0 ? fraction : "");
}

/* A set of nodes by their numbers: 024, or - for none. */
static inline uint32_t nodes_of(const char *text) {
    uint32_t nodes = 0;
    for (; *text >= '0' && *text <= '9'; text++) {
        nodes |= UINT32_C(1) << (*text - '0');
    }
    return nodes;
}

static inline void tells_nodes(struct effects *effects, uint32_t nodes) {
    for (uint32_t node = 0; node < 10; node++) {
        if (nodes >> node & 1) {
            tells(effects, "%u", (unsigned)node);
        }
    }
    if (nodes == 0) {
        tells(effects, "-");
    }
}

static inline void split(struct words *words, const char *text) {
    snprintf(words->text, sizeof words->text, "%s", text);
    words->count = 0;
    for (char *rest = words->text, *word; (word = strtok_r(rest, " ", &rest)) != NULL;) {
        assert_true(words->count < COUNT(words->word));
        words->word[words->count++] = word;
    }
}

static inline void drop_word(struct words *words) {
    memmove((void *)words->word, words->word + 1, --words->count * sizeof words->word[0]);
}

/* -- Stories -- */

struct story {
    const char *file, *text;
    char title[STORY_LINE_MAX];
};

static struct {
    struct teller teller;
    struct story stories[STORIES_MAX];
    size_t count;
    char *texts[16]; /* of the files; kept until the program ends */
    size_t n_texts;
} book;

static inline void copy_world(void *to, const void *from) {
    memcpy(to, from, book.teller.size);
    if (book.teller.moved != NULL) {
        book.teller.moved(to);
    }
}

/* Runs the events of one line, and writes their effects: after it if there is room, else below. */
static inline void run_line(const char *line, struct effects *told) {
    char copy[STORY_LINE_MAX];
    struct effects beside = {""}, below = {""};
    snprintf(copy, sizeof copy, "%s", line);
    for (char *rest = copy, *text; (text = strtok_r(rest, ";", &rest)) != NULL;) {
        struct words words;
        struct effects effects = {""};
        split(&words, text);
        if (strcmp(words.word[0], "mark") == 0) {
            copy_world(book.teller.marked, book.teller.world);
        } else if (strcmp(words.word[0], "back") == 0) {
            copy_world(book.teller.world, book.teller.marked);
        } else {
            book.teller.event(book.teller.world, &words, &effects);
        }
        for (char *lines = effects.text, *effect;
             (effect = strtok_r(lines, "\n", &lines)) != NULL;) {
            tells(&beside, "%s%s", beside.text[0] != '\0' ? " / " : ARROW, effect);
            tells(&below, "    -> %s\n", effect);
        }
    }
    if (strlen(line) + strlen(beside.text) <= STORY_WIDTH) {
        tells(told, "%s%s\n", line, beside.text);
    } else {
        tells(told, "%s\n%s", line, below.text);
    }
}

/* Writes the next line of a story as it should be, with its effects. Moves `text` past the lines
 * that it replaces. */
static inline void retell(const char **text, struct effects *told) {
    const char *end = *text + strcspn(*text, "\n"), *begin = *text;
    char line[STORY_LINE_MAX];
    snprintf(line, sizeof line, "%.*s", (int)(end - begin), begin);
    *text = end + (*end == '\n');
    while (strncmp(*text, "    ->", 6) == 0) {
        end = *text + strcspn(*text, "\n");
        *text = end + (*end == '\n');
    }
    if (line[0] != '#' && line[0] != '\0') {
        char *arrow = strstr(line, ARROW);
        if (arrow != NULL) {
            *arrow = '\0';
        }
        run_line(line, told);
    } else {
        tells(told, "%.*s", (int)(*text - begin), begin);
    }
}

static inline void run_story(void **state) {
    const struct story *story = *state;
    const char *text = story->text;
    book.teller.begin(book.teller.world);
    while (text[0] != '\0' && text[0] != '=') {
        const char *before = text;
        struct effects told = {""};
        retell(&text, &told);
        if (strncmp(before, told.text, strlen(told.text)) != 0 ||
            strlen(told.text) != (size_t)(text - before)) {
            fail_msg("%s, %s: the file has\n%.*s, and it comes to\n%s", story->file, story->title,
                     (int)(text - before), before, told.text);
        }
    }
}

/* The text of a file, with a terminating zero. */
static inline const char *read_book(const char *path) {
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;
    if (file == NULL || getdelim(&text, &size, '\0', file) < 0) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(2);
    }
    fclose(file);
    assert_true(book.n_texts < COUNT(book.texts));
    book.texts[book.n_texts++] = text;
    return text;
}

static inline void open_book(const char *path) {
    for (const char *text = read_book(path); *text != '\0'; text += strcspn(text, "\n") + 1) {
        if (text[0] == '=') {
            if (book.count == STORIES_MAX) {
                abort();
            }
            struct story *story = &book.stories[book.count++];
            const size_t length = strcspn(text, "\n");
            *story = (struct story){.file = path, .text = text + length + 1};
            snprintf(story->title, sizeof story->title, "%.*s", (int)length - 2, text + 2);
        }
    }
}

static inline int write_book(const char *path) {
    const char *text = read_book(path);
    char other[STORY_LINE_MAX];
    snprintf(other, sizeof other, "%s.new", path);
    FILE *file = fopen(other, "w");
    if (file == NULL) {
        return 2;
    }
    while (*text != '\0') {
        struct effects told = {""};
        if (text[0] == '=') {
            const size_t length = strcspn(text, "\n") + 1;
            book.teller.begin(book.teller.world);
            tells(&told, "%.*s", (int)length, text);
            text += length;
        } else {
            retell(&text, &told);
        }
        fputs(told.text, file);
        fflush(file);
    }
    return fclose(file) == 0 && rename(other, path) == 0 ? 0 : 2;
}

/* The test of a program: its files of stories. */
static inline int tell(int argc, char **argv, const struct teller *teller) {
    static struct CMUnitTest tests[STORIES_MAX];
    const bool writes = argc > 1 && strcmp(argv[argc - 1], "--write") == 0;
    int status = 0;
    book.teller = *teller;
    for (int i = 1; i < argc - writes; i++) {
        if (writes) {
            status |= write_book(argv[i]);
        } else {
            open_book(argv[i]);
        }
    }
    for (size_t i = 0; i < book.count; i++) {
        struct story *story = &book.stories[i];
        tests[i] = (struct CMUnitTest){
            .name = story->title, .test_func = run_story, .initial_state = story};
    }
    return writes ? status : _cmocka_run_group_tests("stories", tests, book.count, NULL, NULL);
}

#endif
