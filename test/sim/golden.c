/* Plays the stories and compares them with golden/NAME.txt, or writes these files.
 *
 *     golden DIR           compare (TAP)
 *     golden DIR --write   write
 *
 * A story that differs is shown in full; a story with a violation fails, too. */
#include "sim/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fault.h"
#include "sim/kind.h"
#include "sim/world.h"

#define BEGIN_NS (100 * RL_NS_PER_MS) /* all are connected by then */

static void schedule(struct sim_world *world, uint32_t line) {
    const struct sim_story *story = world->story_data;
    struct sim_event event = {.at_ns = BEGIN_NS + story->lines[line].at_ms * RL_NS_PER_MS,
                              .kind = SIM_EV_STORY,
                              .arg = line};
    sim_queue_add(&world->queue, &event);
}

static redlock_acquire_options acquire_options(const struct sim_line *line) {
    redlock_acquire_options acquire = REDLOCK_ACQUIRE_OPTIONS_INIT;
    acquire.ttl_ms = line->a;
    acquire.tries = line->b == 0 ? 1 : REDLOCK_NO_LIMIT;
    acquire.wait_ms = REDLOCK_NO_LIMIT;
    acquire.delay_ms = line->b;
    acquire.jitter_ms = 0;
    acquire.fencing = line->act == SIM_ACT_FENCED;
    return acquire;
}

static void user_acts(struct sim_user *user, const struct sim_line *line) {
    redlock_acquire_options acquire = acquire_options(line);
    sim_client_enter(user->client);
    switch ((enum sim_act)line->act) {
        case SIM_ACT_READ:
            sim_user_make_reader(user);
            sim_user_acquire(user, &acquire);
            break;
        case SIM_ACT_PERMITS:
            sim_permits_make(user, line->node);
            sim_user_acquire(user, &acquire);
            break;
        case SIM_ACT_CHANGE:
            sim_user_change_mode(user);
            break;
        case SIM_ACT_EXTEND:
            sim_user_extend(user, line->a);
            break;
        case SIM_ACT_RELEASE:
            sim_user_release(user);
            break;
        default:
            sim_user_acquire(user, &acquire);
            break;
    }
    sim_client_leave(user->client);
    sim_client_schedule_turn(user->client);
}

static void act(struct sim_world *world, const struct sim_line *line) {
    struct sim_client *client = &world->clients[line->client - 1];
    struct sim_wire *wire = &world->net.wires[line->client - 1][line->node - 1];
    switch ((enum sim_act)line->act) {
        case SIM_ACT_FAR:
            wire->extra_ns[SIM_TO_NODE] = line->a * RL_NS_PER_MS;
            wire->extra_ns[SIM_TO_CLIENT] = line->b * RL_NS_PER_MS;
            break;
        case SIM_ACT_WALL:
            client->wall.base_us = line->a * UINT64_C(1000);
            break;
        case SIM_ACT_FAULT:
            sim_fault_apply(world, (enum sim_fault)line->a, line->client - 1u, line->node - 1u,
                            line->b * RL_NS_PER_MS);
            break;
        case SIM_ACT_STORY_OF:
            break;
        case SIM_ACT_SERVER:
            sim_kind_set(world, line->node - 1u, (enum server_native)line->a);
            break;
        case SIM_ACT_FORBID:
            sim_kind_forbid(world, line->node - 1u);
            break;
        case SIM_ACT_END:
            world->phase = SIM_OVER;
            break;
        default:
            user_acts(&client->users[0], line);
            break;
    }
}

static void next_line(struct sim_world *world, uint32_t line) {
    const struct sim_story *story = world->story_data;
    act(world, &story->lines[line]);
    if (story->lines[line].act != SIM_ACT_END) {
        schedule(world, line + 1);
    }
}

/* Returns false if the checker found something. */
static bool tell(const struct sim_story *story, FILE *out) {
    struct sim_options options = sim_options_derive(SIM_STORY, 1, story->nodes, UINT32_MAX);
    options.guard = story->guard;
    for (const struct sim_line *line = story->lines; line->act != SIM_ACT_END; line++) {
        options.clients = line->client > options.clients ? line->client : options.clients;
        options.permits = line->act == SIM_ACT_STORY_OF ? line->a : options.permits;
        options.reader_percent = line->act == SIM_ACT_READ ? 50 : options.reader_percent;
    }
    options.resources = options.permits > 0 ? options.permits : options.resources;
    struct sim_world *world = sim_world_new(&options);
    world->story = next_line;
    world->story_data = story;
    schedule(world, 0);
    while (world->now_ns < BEGIN_NS - RL_NS_PER_MS && sim_world_step(world)) {
        if (world->queue.count > 0 && world->queue.events[0].at_ns >= BEGIN_NS) {
            break;
        }
    }
    fprintf(out, "%s\n\nIn ms of true time, %u nodes:\n\n", story->text, (unsigned)story->nodes);
    world->trace.story = out;
    world->trace.since_ns = BEGIN_NS;
    while (sim_world_step(world)) {
    }
    bool fine = world->check.found == SIM_FINE;
    if (!fine) {
        fprintf(out, "%s: %s\n", sim_violation_name(world->check.found), world->check.message);
    }
    world->trace.story = NULL; /* closing is not part of the story */
    sim_world_free(world);
    return fine;
}

/* -- Comparing -- */

static char *read_file(const char *path) {
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 16);
    if (text == NULL) {
        abort();
    }
    if (file != NULL) {
        size_t length = fread(text, 1, (1 << 16) - 1, file);
        text[length] = '\0';
        fclose(file);
    }
    return text;
}

static bool write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    bool ok = file != NULL && fputs(text, file) >= 0;
    return (file != NULL ? fclose(file) == 0 : true) && ok;
}

static void show(const char *text) {
    for (const char *at = text; *at != '\0';) {
        size_t length = strcspn(at, "\n");
        printf("# %.*s\n", (int)length, at);
        at += length + (at[length] == '\n');
    }
}

static bool check_story(const struct sim_story *story, const char *directory, bool write) {
    char path[1024];
    char *told = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&told, &size);
    if (out == NULL) {
        abort();
    }
    bool ok = tell(story, out);
    fclose(out);
    snprintf(path, sizeof path, "%s/%s.txt", directory, story->name);
    char *wanted = read_file(path);
    if (write) {
        ok = write_file(path, told) && ok;
    } else {
        ok = strcmp(told, wanted) == 0 && ok;
    }
    if (!ok) {
        show(told);
    }
    free(told);
    free(wanted);
    return ok;
}

int main(int argc, char **argv) {
    bool write = argc == 3 && strcmp(argv[2], "--write") == 0;
    bool all = true;
    if (argc != 2 && !write) {
        fprintf(stderr, "usage: golden DIR [--write]\n");
        return 2;
    }
    for (uint32_t i = 0; i < sim_story_count; i++) {
        bool ok = check_story(&sim_stories[i], argv[1], write);
        printf("%sok %u - %s\n", ok ? "" : "not ", (unsigned)i + 1, sim_stories[i].name);
        all = all && ok;
    }
    printf("1..%u\n", (unsigned)sim_story_count);
    return all ? 0 : 1;
}
