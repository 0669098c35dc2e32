/* See fake_channels.h. */
#include "fake/fake_channels.h"

#include <stdlib.h>
#include <string.h>

static size_t find(const struct fake_channels *channels, const struct resp_arg *name) {
    size_t i = 0;
    while (i < channels->count && (channels->list[i].length != name->length ||
                                   memcmp(channels->list[i].name, name->data, name->length) != 0)) {
        i++;
    }
    return i;
}

size_t fake_channels_add(struct fake_channels *channels, const struct resp_arg *name) {
    size_t i = find(channels, name);
    if (i == channels->count) {
        if (i == FAKE_CHANNELS_MAX || name->length > FAKE_CHANNEL_SIZE) {
            abort();
        }
        memcpy(channels->list[i].name, name->data, name->length);
        channels->list[i].length = name->length;
        channels->count++;
    }
    return channels->count;
}

size_t fake_channels_remove(struct fake_channels *channels, const struct resp_arg *name) {
    size_t i = find(channels, name);
    if (i < channels->count) {
        channels->list[i] = channels->list[--channels->count];
    }
    return channels->count;
}

bool fake_channels_has(const struct fake_channels *channels, const struct resp_arg *name) {
    return find(channels, name) < channels->count;
}

static void append_bulk(struct bytes *out, const void *data, size_t length) {
    bytes_append_format(out, "$%zu\r\n", length);
    bytes_append(out, data, length);
    bytes_append_text(out, "\r\n");
}

void fake_channels_message(struct bytes *out, const struct resp_arg *name,
                           const struct resp_arg *payload) {
    bytes_append_text(out, "*3\r\n");
    append_bulk(out, "message", strlen("message"));
    append_bulk(out, name->data, name->length);
    append_bulk(out, payload->data, payload->length);
}

void fake_channels_confirm(struct bytes *out, const char *word, const struct resp_arg *name,
                           size_t count) {
    bytes_append_text(out, "*3\r\n");
    append_bulk(out, word, strlen(word));
    append_bulk(out, name->data, name->length);
    bytes_append_format(out, ":%zu\r\n", count);
}
