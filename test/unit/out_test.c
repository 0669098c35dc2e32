/* Bytes that wait to be written: in order, at O(1) each no matter how much the peer accepts, and
 * without a secret in freed memory. */
#include "base/out.h"

#include "unit/check.h"

#define BIG (16u << 20)

struct counting {
    size_t mallocs, live;
    bool fails;
    bool looks; /* search freed blocks for SECRET */
    size_t secrets;
    size_t size; /* of the last block */
    char *last;
};

#define SECRET "hunter2-and-more"

static struct counting counting;

static void *count_malloc(size_t size, void *data) {
    if (counting.fails) {
        return NULL;
    }
    counting.mallocs++;
    counting.live++;
    counting.size = size;
    counting.last = malloc(size);
    return counting.last;
}

static size_t size_before; /* of the block that is freed */

static void count_free(void *pointer, void *data) {
    if (pointer == NULL) {
        return;
    }
    counting.live--;
    size_t size = pointer == counting.last ? counting.size : size_before;
    for (size_t i = 0; counting.looks && i + strlen(SECRET) <= size; i++) {
        counting.secrets += memcmp((char *)pointer + i, SECRET, strlen(SECRET)) == 0;
    }
    free(pointer);
}

static const redlock_allocator memory = {count_malloc, count_free, NULL};

static int set_up(void **state) {
    counting = (struct counting){0};
    return 0;
}

static char expected(size_t at) {
    return (char)(at * 31 + at / 253);
}

static void add(struct rl_out *out, size_t *added, size_t length) {
    char bytes[512];
    for (size_t i = 0; i < length; i++) {
        bytes[i] = expected(*added + i);
    }
    assert_true(rl_out_add(out, &memory, bytes, length));
    *added += length;
}

static void take(struct rl_out *out, size_t *taken, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (out->bytes[out->from + i] != expected(*taken + i)) {
            fail_msg("byte %zu", *taken + i);
        }
    }
    *taken += length;
    rl_out_took(out, &memory, length);
}

TEST_WITH(keeps_the_order, set_up, NULL) {
    struct rl_out out = {0};
    size_t added = 0, taken = 0;
    uint64_t random = random_seed();
    for (int i = 0; i < 100000; i++) {
        add(&out, &added, random_below(&random, 512));
        size_t waits = rl_out_length(&out);
        assert_int_equal(waits, added - taken);
        bool all = random_below(&random, 100) == 0;
        take(&out, &taken, all ? waits : random_below(&random, (uint32_t)waits + 1));
    }
    take(&out, &taken, rl_out_length(&out));
    rl_out_free(&out, &memory);
    assert_int_equal(counting.live, 0);
}

/* 16 MB and more wait, and the peer takes 1000 bytes at a time, while as much is added. */
TEST_WITH(moves_little, set_up, NULL) {
    struct rl_out out = {0};
    size_t added = 0, taken = 0, moves = 0, moved = 0;
    while (added < BIG || out.room - out.to >= 500) { /* full to the brim */
        add(&out, &added, 500);
    }
    for (size_t i = 0; i < BIG / 1000; i++) {
        size_t from = out.from;
        rl_out_took(&out, &memory, 1000);
        taken += 1000;
        add(&out, &added, 500);
        add(&out, &added, 500);
        if (out.from < from) {
            moves++;
            moved += rl_out_length(&out);
        }
    }
    assert_true(moved <= 4 * BIG);
    assert_true(moves <= 2);
    take(&out, &taken, rl_out_length(&out));
    assert_int_equal(out.room, 0); /* and the large buffer is not kept */
    assert_int_equal(counting.live, 0);
}

/* The memory of one iteration is reused in the next. */
TEST_WITH(allocates_nothing_in_the_steady_state, set_up, NULL) {
    struct rl_out out = {0};
    size_t added = 0, taken = 0;
    for (int i = 0; i < 1000; i++) {
        for (int j = 0; j < 64; j++) {
            add(&out, &added, 150);
        }
        take(&out, &taken, rl_out_length(&out));
        if (i == 0) {
            counting.mallocs = 0;
        }
    }
    assert_int_equal(counting.mallocs, 0);
    rl_out_free(&out, &memory);
}

TEST_WITH(no_memory, set_up, NULL) {
    struct rl_out out = {0};
    size_t added = 0, taken = 0;
    char bytes[4096] = "";
    counting.fails = true;
    assert_false(rl_out_add(&out, &memory, bytes, 1));
    counting.fails = false;
    add(&out, &added, 100);
    counting.fails = true;
    assert_false(rl_out_add(&out, &memory, bytes, sizeof bytes));
    assert_false(rl_out_reserve(&out, &memory, SIZE_MAX));
    assert_int_equal(rl_out_length(&out), 100);
    take(&out, &taken, 100);
    rl_out_free(&out, &memory);
    assert_int_equal(counting.live, 0);
}

TEST_WITH(wipes_a_secret, set_up, NULL) {
    for (int how = 0; how < 4; how++) {
        struct rl_out out = {0};
        char fill[600];
        memset(fill, 'x', sizeof fill);
        assert_true(rl_out_reserve(&out, &memory, 600));
        counting.looks = true;
        size_before = counting.size;
        out.is_secret = true;
        assert_true(rl_out_add(&out, &memory, SECRET, strlen(SECRET)));
        if (how == 1) { /* moved to a larger block */
            while (out.bytes == counting.last && counting.size == size_before) {
                assert_true(rl_out_add(&out, &memory, fill, sizeof fill));
            }
        } else if (how == 2) {
            rl_out_took(&out, &memory, 5);
        }
        if (how == 3) { /* the connection ends before it is out */
            rl_out_free(&out, &memory);
        } else {
            rl_out_took(&out, &memory, rl_out_length(&out));
        }
        assert_false(out.is_secret);
        assert_int_equal(counting.live, 0);
        assert_int_equal(counting.secrets, 0);
    }
}
