/* libFuzzer: any bytes below TLS, from a server to a connection.
 *
 * Input: a byte that says what is done, then bytes for it.
 *     bits 0 and 1   0  the bytes come in place of the server's handshake
 *                    1  the server's own bytes are bent: groups of three, how far to go on in what
 *                       it says (2 bytes), and what to change there (1)
 *                    2  an honest handshake, then the bytes
 *                    3  as 1, and it is cut after so many bytes as the first two say
 *     bit 2          what comes, comes byte by byte
 *     bit 3          TLS 1.2 at most
 *     bit 4          the certificate is not looked at
 *
 * What must hold: events are as the world promises (pair.c checks each), and whatever happens to
 * the bytes, the owner reads only a prefix of what the server wrote. Sanitizers check memory. */
#include <openssl/ssl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tls/certs.h"
#include "tls/pair.h"

#define HOST "node.example"
#define STEPS_MAX 200000

static const char question[] = "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n";
#define QUESTION (sizeof question - 1)

static struct {
    struct tls_cert authority, leaf;
    char folder[64];
    char ca[128];
} world;

static struct { /* of one input */
    const uint8_t *at, *end;
    size_t next; /* byte of the server's that is changed next; SIZE_MAX: none */
    size_t said;
    uint8_t change;
} input;

/* An assertion that NDEBUG does not remove. */
static void demand(bool truth) {
    if (!truth) {
        abort();
    }
}

static void clean_up(void) {
    unlink(world.ca);
    rmdir(world.folder);
    tls_cert_free(&world.authority);
    tls_cert_free(&world.leaf);
}

static void prepare(void) {
    const char *temporary = getenv("TMPDIR");
    snprintf(world.folder, sizeof world.folder, "%.40s/tls-fuzz.XXXXXX",
             temporary != NULL ? temporary : "/tmp");
    demand(mkdtemp(world.folder) != NULL);
    tls_cert_make(&world.authority,
                  &(struct tls_wish){.common_name = "Authority", .is_authority = true});
    tls_cert_make(&world.leaf,
                  &(struct tls_wish){.alt_names = "DNS:" HOST, .issuer = &world.authority});
    tls_cert_write(&world.authority, world.folder, "ca", world.ca, sizeof world.ca);
    atexit(clean_up);
}

static void next_change(size_t from) {
    input.next = SIZE_MAX;
    if (input.end - input.at >= 3) {
        input.next = from + (size_t)(input.at[0] << 8 | input.at[1]);
        input.change = input.at[2];
        input.at += 3;
    }
}

static void bend(struct pair *pair, char *bytes, size_t length) {
    (void)pair;
    while (input.next < input.said + length) {
        bytes[input.next - input.said] ^= (char)input.change;
        next_change(input.next + 1);
    }
    input.said += length;
}

static void run(struct pair *pair) {
    for (int i = 0; i < STEPS_MAX && pair_step(pair); i++) {
    }
}

static void play(struct pair *pair, int what) {
    size_t left = (size_t)(input.end - input.at);
    demand(pair_dial(pair));
    if (what == 0) {
        pair->has_ended = true; /* the server itself takes no part */
        pair_say(pair, input.at, left);
    } else if (what != 2) {
        if (what == 3 && left >= 2) {
            pair->cut_after = (size_t)(input.at[0] << 8 | input.at[1]);
            input.at += 2;
        }
        next_change(0);
        pair->bend = bend;
    }
    run(pair);
    if (what == 2) {
        demand(pair->ups == 1);
        pair_say(pair, input.at, left);
        run(pair);
    }
    if (pair->ups == 1 && pair->ends == 0) {
        pair_write(pair, question, QUESTION);
    }
    demand(what != 0 || pair->ups == 0);
    demand(pair->got.length <= QUESTION);
    demand(pair->got.length == 0 || memcmp(pair->got.bytes, question, pair->got.length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct pair pair;
    if (world.ca[0] == '\0') {
        prepare();
    }
    if (size == 0 || size > 4096) {
        return 0;
    }
    struct rl_tls_settings settings = {.insecure = (data[0] & 16) != 0};
    settings.ca = settings.insecure ? NULL : world.ca;
    memset(&input, 0, sizeof input);
    input.at = data + 1;
    input.end = data + size;
    pair_begin(&pair, &settings, HOST, &world.leaf);
    if (data[0] & 8) {
        SSL_CTX_set_max_proto_version(pair.server_context, TLS1_2_VERSION);
    }
    pair.piece = data[0] & 4 ? 1 : 0;
    play(&pair, data[0] & 3);
    pair_end(&pair);
    return 0;
}
