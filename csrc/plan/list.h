/* A list of arrays in one place: of any shapes, reduced as the one array that their elements are
 * one after the other, or each by itself. */
#pragma once

#include "plan/axes.h"

struct listed_array {
    const void *data; /* the first element */
    uint64_t n;
    enum element input;
    const struct layout *layout; /* normalised; NULL: it is flat */
};

struct array_list {
    const struct listed_array *at;
    uint64_t count;
    uint64_t fewest; /* elements of the smallest array */
    bool each;       /* every array has a result */
    bool uniform;    /* all are flat, and of the plan's element type */
};

/* Its elements, converted to `type`. */
static inline void listed_layout(const struct listed_array *self, enum element type,
                                 struct layout *layout)
{
    if (self->layout) {
        layout_copy(self->layout, layout);
    } else {
        layout->data = self->data;
        layout->mask = NULL;
        layout->input = self->input;
        layout->swapped = false;
        layout_make_flat(layout, self->n);
    }
    layout->type = type;
}
