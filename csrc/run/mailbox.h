/* Memory in which a launch leaves a small result for the host, without a copy or synchronization:
 * 8-byte words, each stored atomically with the launch's tag and 4 bytes of the result. */
#pragma once

#include "common/exact_sums.h"
#include "common/kernels.h"
#include "common/reduction.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes of a posted state: a fold's, or an exact sum's. */
enum {
    EXACT_STATE_BYTES_MAX = EXACT_WORDS_MAX * sizeof(int64_t),
    POSTED_BYTES_MAX = EXACT_STATE_BYTES_MAX > STATE_BYTES_MAX ? EXACT_STATE_BYTES_MAX
                                                               : STATE_BYTES_MAX,
    MAILBOX_WORDS = POSTED_BYTES_MAX / sizeof(uint32_t)
};

struct mailbox {
    uint64_t *words;     /* host address; NULL: there is no mailbox */
    uint64_t *on_device; /* device address */
    uint32_t tag;        /* of the latest launch; 0: no launch yet */
    size_t bytes;        /* that the launch posts */
    bool pending;        /* its result may still arrive */
};

/* The epilogue argument with which the next launch posts `bytes` bytes. */
struct epilogue mailbox_next(struct mailbox *, size_t bytes);

/* Copies the latest launch's result; false if it has not arrived completely. */
bool mailbox_read(struct mailbox *, void *result);

/* Whether the latest launch's result has neither been read nor arrived. */
bool mailbox_is_pending(struct mailbox *);
