/* The channels that one connection of a fake node listens to.
 *
 * Happy path: fake_channels_add() and fake_channels_remove() answer with how many there are now,
 * fake_channels_has() tells who is to hear a message. Failure mode: more channels than a test ever
 * needs end the program. {0} is empty. */
#ifndef FAKE_CHANNELS_H
#define FAKE_CHANNELS_H

#include <stdbool.h>
#include <stddef.h>

#include "fake/bytes.h"
#include "fake/resp.h"

#define FAKE_CHANNELS_MAX 8
#define FAKE_CHANNEL_SIZE 1100

struct fake_channels {
    size_t count;
    struct {
        size_t length;
        char name[FAKE_CHANNEL_SIZE];
    } list[FAKE_CHANNELS_MAX];
};

size_t fake_channels_add(struct fake_channels *channels, const struct resp_arg *name);
size_t fake_channels_remove(struct fake_channels *channels, const struct resp_arg *name);
bool fake_channels_has(const struct fake_channels *channels, const struct resp_arg *name);

/* Appends what a connection that listens to the channel is told. */
void fake_channels_message(struct bytes *out, const struct resp_arg *name,
                           const struct resp_arg *payload);

/* Appends the answer to "subscribe" or "unsubscribe". */
void fake_channels_confirm(struct bytes *out, const char *word, const struct resp_arg *name,
                           size_t count);

#endif /* FAKE_CHANNELS_H */
