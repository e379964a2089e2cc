#include "run/execute.h"

/* What is brought for one piece and the next takes turns. */
static void *buffer(const struct execution *self, enum part part)
{
    const unsigned buffers = part == PART_MASK ? 1 : self->schedule->buffers;
    return (char *)executor_part(&self->on, part) +
           self->piece % buffers * (self->on.arena->bytes[part] / buffers);
}

/* A mask is brought as bits, which the device makes bytes of. */
static bool feed_mask(const struct execution *self, const struct layout *mask, uint64_t start,
                      uint64_t length)
{
    struct machine *machine = self->on.machine;
    const struct step step = schedule_unpack(self->schedule, length);
    void *bits = buffer(self, PART_MASK_BITS), *bytes = buffer(self, PART_MASK);
    uint64_t n = step.n;
    void *arguments[] = {&bits, &n, &bytes};
    return machine->memory->feed_bits(machine, bits, mask, start, length) &&
           machine->work->launch(machine, &step, arguments);
}

bool source_prepare(const struct execution *self, struct source *source)
{
    const struct choice *choice = &self->schedule->choice;
    if (!source->from || choice->uploads || choice->form == FORM_FLAT)
        return true;
    source->layout = *source->from;
    if (!choice->uploads_mask)
        return true;
    /* Without the dimensions that it is broadcast along. */
    struct layout mask = {.data = source->from->mask, .input = ELEMENT_BOOL, .type = ELEMENT_BOOL};
    struct axes axes = {.reduced = *source->from};
    axes_compact(&axes, true, 1, &mask);
    source->layout = axes.reduced;
    source->layout.mask = buffer(self, PART_MASK);
    return feed_mask(self, &mask, 0, layout_length(&mask));
}

/* Where the mask is brought, all elements are, and it is beside them. */
static bool feed_source(const struct execution *self, struct source *source, uint64_t start,
                        uint64_t length, uint64_t *n)
{
    struct machine *machine = self->on.machine;
    const struct layout *from = source->from, mask = layout_of_its_mask(from);
    struct layout array = *from;
    const bool masked = self->schedule->choice.uploads_mask;
    void *const at = buffer(self, source->part);
    if (masked)
        array.mask = NULL;
    if (!machine->memory->feed(machine, at, &array, start, length, n) ||
        (masked && !feed_mask(self, &mask, start, length)))
        return false;
    source->layout = (struct layout){.data = at,
                                     .mask = masked ? buffer(self, PART_MASK) : NULL,
                                     .input = from->input,
                                     .type = from->type};
    layout_make_flat(&source->layout, *n);
    return true;
}

bool feed_piece(struct execution *self, uint64_t start, uint64_t length, uint64_t *n)
{
    struct machine *machine = self->on.machine;
    uint64_t of_factors;
    *n = length;
    if (self->schedule->choice.uploads) {
        self->piece = start / self->schedule->piece;
        if ((self->schedule->buffers > 1 && !machine->work->run_ahead(machine)) ||
            !feed_source(self, &self->array, start, length, n) ||
            (self->factors.from && !feed_source(self, &self->factors, start, length, &of_factors)))
            return false;
    }
    self->fed += *n;
    return true;
}

const void *source_at(const struct execution *self, const struct source *source, uint64_t start)
{
    return self->schedule->choice.uploads
               ? buffer(self, source->part)
               : (const char *)source->from->data + start * element_size(source->from->input);
}
