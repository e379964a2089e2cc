#include "run/upload.h"

static const struct choice *choice_of(const struct upload *self)
{
    return &self->schedule->course.choice;
}

/* What is brought for one piece and the next takes turns. */
static void *address(const struct upload *self, enum part part)
{
    const struct schedule *schedule = self->schedule;
    const unsigned buffers = part == PART_MASK ? 1 : schedule->buffers;
    return self->memory + schedule->arena.at[part] +
           self->piece % buffers * (schedule->arena.bytes[part] / buffers);
}

static bool feed(const struct upload *self, enum part part, const struct layout *layout,
                 uint64_t start, uint64_t length, uint64_t *fed)
{
    return self->machine->feed(self->machine, address(self, part), layout, start, length, fed);
}

/* A mask is brought as bits, which the device makes bytes of. */
static bool feed_mask(const struct upload *self, const struct layout *mask, uint64_t start,
                      uint64_t length)
{
    const struct step step = course_unpack(&self->schedule->course, length);
    void *bits = address(self, PART_MASK_BITS), *bytes = address(self, PART_MASK);
    uint64_t n = step.n;
    void *arguments[] = {&bits, &n, &bytes};
    return self->machine->feed_bits(self->machine, bits, mask, start, length) &&
           machine_launch_step(self->machine, &step, arguments);
}

/* ---- layouts ---- */

/* What is uploaded lies one after the other, and so does its mask. */
static void describe_piece(struct upload *self, uint64_t n)
{
    const bool masked = choice_of(self)->uploads_mask;
    const struct layout *layout = self->from;
    self->layout = (struct layout){
        .data = address(self, self->part),
        .mask = masked ? address(self, PART_MASK) : NULL,
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

void upload_begin(struct upload *self, struct machine *machine, const struct schedule *schedule,
                  char *memory, enum part part)
{
    const struct plan *plan = schedule->course.plan;
    self->machine = machine;
    self->schedule = schedule;
    self->memory = memory;
    self->from = part == PART_UPLOADED ? plan->layout : plan->factors;
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
    self->layout.mask = address(self, PART_MASK);
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
    if (leads(self) && self->schedule->buffers > 1 && !self->machine->run_ahead(self->machine))
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
                         ? address(self, self->part)
                         : (const char *)self->from->data + start * element_size(self->from->input);
    return (struct kernel_array){.at = at, .base = start};
}
