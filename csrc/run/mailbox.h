/* Where a launch leaves a small result for the host without a copy or a synchronisation: 8-byte
 * words that both see, stored whole, half of each the launch's tag: the other half is there. */
#pragma once

#include "common/exact_sums.h"
#include "common/kernels.h"
#include "common/reduction.h"

#include <stdbool.h>
#include <stdint.h>

/* Of a state that is posted: a fold's, or an exact sum's. */
enum {
    EXACT_STATE_BYTES_MAX = EXACT_WORDS_MOST * sizeof(int64_t),
    POSTED_BYTES_MAX = EXACT_STATE_BYTES_MAX > STATE_BYTES_MAX ? EXACT_STATE_BYTES_MAX
                                                               : STATE_BYTES_MAX,
    MAILBOX_WORDS = POSTED_BYTES_MAX / sizeof(uint32_t)
};

struct mailbox {
    uint64_t *words;     /* as the host reads them; NULL: there is no mailbox */
    uint64_t *on_device; /* as kernels write them */
    uint32_t tag;        /* of the latest launch; 0: there was none */
    size_t bytes;        /* that it posts */
    bool awaited;        /* that launch's result may still come */
};

/* What the next launch is given, to post so many bytes. */
struct epilogue mailbox_next(struct mailbox *, size_t bytes);

/* Copies the latest launch's result; false while it is not all there. */
bool mailbox_read(struct mailbox *, void *result);

/* Whether the latest launch's result may still come: it has not been read, and is not there. */
bool mailbox_is_awaited(struct mailbox *);
