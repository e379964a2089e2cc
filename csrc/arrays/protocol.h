/* What array protocols have in common: a pointer, a shape and strides that somebody else wrote
 * down, checked before anything is read through them. */
#pragma once

#include "arrays/view.h"

/* How a protocol calls its entries, for messages. */
struct protocol_terms {
    const char *shape, *strides, *data;
};

/* By NumPy's kind and bytes: 'f', 4 is float32. bfloat16 is 'V', 2, though not all of those are
 * bfloat16. ELEMENTS if there is none. */
enum element protocol_element(char kind, size_t size);

/* A view of nothing yet: all is set but the layout's pointer, types and dimensions. */
void protocol_begin(struct view *, bool on_device);

/* Sets view->n from the dimensions and the shape, in which a negative number is still recognised.
 * So few elements pass that no product of n and an element's size overflows. False with a
 * ValueError. */
bool protocol_count(struct view *, const char *name, const struct protocol_terms *);

/* Strides of elements that lie one after the other, the last dimension fastest. */
void protocol_in_c_order(struct layout *);

/* The rest: the pointer is not null, the elements' addresses are possible, and aligned on devices,
 * which cannot read others. Strides that are never taken a step of become 0. False with a
 * ValueError. */
bool protocol_check(struct view *, const char *name, const struct protocol_terms *);

/* An integer, or whatever Python takes for one, as a new reference to an int; NULL with an
 * exception set. */
PyObject *protocol_integer(PyObject *object);
