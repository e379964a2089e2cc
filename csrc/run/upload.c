#include "run/upload.h"

static const struct choice *choice_of(const struct upload *self)
{
    return &self->schedule->course.choice;
}

/* What is brought for one piece and the next takes turns. */
static void *buffer(const struct upload *self, enum part part)
{
    const unsigned buffers = part == PART_MASK ? 1 : self->schedule->buffers;
    return (char *)executor_part(self->on, part) +
           self->piece % buffers * (self->on->arena->bytes[part] / buffers);
}

static bool feed(const struct upload *self, enum part part, const struct layout *layout,
                 uint64_t start, uint64_t length, uint64_t *fed)
{
    return self->on->machine->memory->feed(self->on->machine, buffer(self, part), layout, start,
                                           length, fed);
}

/* A mask is brought as bits, which the device makes bytes of. */
static bool feed_mask(const struct upload *self, const struct layout *mask, uint64_t start,
                      uint64_t length)
{
    const struct step step = course_unpack(&self->schedule->course, length);
    void *bits = buffer(self, PART_MASK_BITS), *bytes = buffer(self, PART_MASK);
    uint64_t n = step.n;
    void *arguments[] = {&bits, &n, &bytes};
    return self->on->machine->memory->feed_bits(self->on->machine, bits, mask, start, length) &&
           executor_launch(self->on, &step, arguments);
}

/* ---- layouts ---- */

/* What is uploaded lies one after the other, and so does its mask. */
static void describe_piece(struct upload *self, uint64_t n)
{
    const bool masked = choice_of(self)->uploads_mask;
    const struct layout *layout = self->from;
    self->layout = (struct layout){
        .data = buffer(self, self->part),
        .mask = masked ? buffer(self, PART_MASK) : NULL,
        .input = layout->input,
        .type = layout->type,
        .dimensions = 1,
        .shape = {n},
        .strides = {(int64_t)element_size(layout->input)},
        .mask_strides = {1},
    };
}

/* The mask as a layout of its own, without the dimensions that it is broadcast along; the array's
 * mask strides become those of the mask's elements, one byte each and one after the other. */
static void compact_mask(struct layout *array, struct layout *mask)
{
    *mask = (struct layout){.data = array->mask, .input = ELEMENT_BOOL, .type = ELEMENT_BOOL};
    for (unsigned k = 0; k < array->dimensions; k++)
        if (array->mask_strides[k]) {
            mask->shape[mask->dimensions] = array->shape[k];
            mask->strides[mask->dimensions++] = array->mask_strides[k];
        }
    int64_t stride = 1;
    for (unsigned k = array->dimensions; k-- > 0;)
        if (array->mask_strides[k]) {
            array->mask_strides[k] = stride;
            stride *= (int64_t)array->shape[k];
        }
}

void upload_begin(struct upload *self, const struct executor *on, const struct schedule *schedule,
                  enum part part)
{
    self->on = on;
    self->schedule = schedule;
    self->from = part == PART_UPLOADED ? on->plan->layout : on->plan->factors;
    self->part = part;
    self->piece = 0;
}

bool upload_prepare(struct upload *self)
{
    struct layout mask;
    if (choice_of(self)->uploads || choice_of(self)->form == FORM_FLAT)
        return true;
    self->layout = *self->from;
    if (!choice_of(self)->uploads_mask)
        return true;
    compact_mask(&self->layout, &mask);
    self->layout.mask = buffer(self, PART_MASK);
    return feed_mask(self, &mask, 0, layout_length(&mask));
}

/* ---- pieces ---- */

/* All elements, and the mask beside them. */
static bool feed_both(struct upload *self, uint64_t start, uint64_t length)
{
    struct layout array = *self->from;
    const struct layout mask = layout_of_its_mask(&array);
    uint64_t fed;
    array.mask = NULL;
    return feed(self, self->part, &array, start, length, &fed) &&
           feed_mask(self, &mask, start, length);
}

/* Factors are fed after the elements that they belong to. */
static bool leads(const struct upload *self)
{
    return self->part == PART_UPLOADED;
}

bool upload_piece(struct upload *self, uint64_t start, uint64_t length, uint64_t *n)
{
    const struct choice *choice = choice_of(self);
    *n = length;
    if (!choice->uploads)
        return true;
    self->piece = start / self->schedule->piece;
    if (leads(self) && self->schedule->buffers > 1 &&
        !self->on->machine->work->run_ahead(self->on->machine))
        return false;
    if (choice->uploads_mask ? !feed_both(self, start, length)
                             : !feed(self, self->part, self->from, start, length, n))
        return false;
    describe_piece(self, *n);
    return true;
}

struct kernel_array upload_array(const struct upload *self, uint64_t start)
{
    const struct choice *choice = choice_of(self);
    const void *at = choice->uploads
                         ? buffer(self, self->part)
                         : (const char *)self->from->data + start * element_size(self->from->input);
    return (struct kernel_array){.at = at, .base = start};
}
