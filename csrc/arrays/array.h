/* Any array-like as one view. NumPy arrays, buffers, sequences and scalars become views of the
 * host's memory; objects with DLPack or __cuda_array_interface__ of the memory that they offer. */
#pragma once

#include "arrays/view.h"

/* False with an exception set. */
bool array_view(PyObject *object, const struct view_request *, struct view *view);

/* Whether it is an array of NumPy's, or of a class derived from that, or offers its memory. */
bool array_offers_memory(PyObject *object);

/* False with a TypeError if it is one of NumPy's masked arrays, which are arrays with all their
 * elements: to take these would be wrong. */
bool array_has_no_mask(PyObject *object, const char *name);

/* Whether it is an array of NumPy's own class with elements that lie one after the other, aligned,
 * in this machine's byte order, and of a type that needs no asking. Then the layout is filled in,
 * normalised, but for the type that elements are converted to; the object keeps the memory. */
bool array_lies_flat(PyObject *object, struct layout *layout);

/* Whether the elements are still where they were viewed: the code of a later argument may have
 * resized NumPy's array. To be asked once no more of it runs. False with an exception set. */
bool held_still_lies(const struct held *, uint64_t n, const char *name);

static inline bool array_still_lies(const struct view *view, const char *name)
{
    return held_still_lies(&view->held, view->n, name);
}

void held_release(struct held *);

static inline void array_release(struct view *view)
{
    held_release(&view->held);
}

/* A view of an array of bools, or of one made of what NumPy takes for true and false in Python. All
 * else is refused, though NumPy takes objects for true. False with an exception set. */
bool array_of_bools(PyObject *object, const char *name, struct view *view);

/* Sets up all that views are made with; -1 with an exception set. */
int array_setup(void);
