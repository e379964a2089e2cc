#include "run/mailbox.h"

#include <string.h>

/* Tags increase, so no word has a future launch's tag; when they wrap around, words are cleared. */
struct epilogue mailbox_next(struct mailbox *self, size_t bytes)
{
    if (++self->tag == 0) {
        for (int k = 0; k < MAILBOX_WORDS; k++)
            __atomic_store_n(&self->words[k], 0, __ATOMIC_RELAXED);
        self->tag = 1;
    }
    self->bytes = bytes;
    self->pending = true;
    return (struct epilogue){.mailbox = self->on_device, .tag = self->tag};
}

bool mailbox_read(struct mailbox *self, void *result)
{
    uint32_t halves[MAILBOX_WORDS];
    for (size_t k = 0; k < self->bytes / sizeof *halves; k++) {
        const uint64_t word = __atomic_load_n(&self->words[k], __ATOMIC_ACQUIRE);
        if (word >> 32 != self->tag) /* from an older launch */
            return false;
        halves[k] = (uint32_t)word;
    }
    memcpy(result, halves, self->bytes);
    self->pending = false;
    return true;
}

/* All words must have arrived: a late one would overwrite the next launch's. */
bool mailbox_is_pending(struct mailbox *self)
{
    char discarded[POSTED_BYTES_MAX];
    return self->pending && !mailbox_read(self, discarded);
}
