/* Views of array-likes. NumPy arrays, buffers, sequences and scalars become views of host memory,
 * objects with DLPack or __cuda_array_interface__ views of the memory that they offer. */
#pragma once

#include "arrays/view.h"

/* Views any array-like. False with an exception set. */
bool array_view(PyObject *object, const struct view_request *, struct view *view);

/* Whether the object is a NumPy array, including subclasses, or offers its memory by a protocol. */
bool array_offers_memory(PyObject *object);

/* False with a TypeError if the object is a NumPy masked array: viewed as an array, it would
 * include its masked elements. */
bool array_has_no_mask(PyObject *object, const char *name);

/* Whether the object is exactly a numpy.ndarray: nonempty, C-contiguous, aligned, in native byte
 * order, and of a type recognized by its number. If so, fills in the layout, normalized, except for
 * the type that elements are converted to. The object still owns the memory. */
bool array_is_flat(PyObject *object, struct layout *layout);

/* Whether the elements are still where they were viewed: the code of a later argument may have
 * resized the NumPy array. Call it once no more such code runs. False with an exception set. */
bool held_check_unmoved(const struct held *, uint64_t n, const char *name);

static inline bool array_check_unmoved(const struct view *view, const char *name)
{
    return held_check_unmoved(&view->held, view->n, name);
}

void held_release(struct held *);

static inline void array_release(struct view *view)
{
    held_release(&view->held);
}

/* Views an array of bool, or Python values that NumPy casts to bool. Anything else is refused,
 * although NumPy would take any object for True. False with an exception set. */
bool array_view_bool(PyObject *object, const char *name, struct view *view);

/* Initializes what views need; -1 with an exception set. */
int array_setup(void);
