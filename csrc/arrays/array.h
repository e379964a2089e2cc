/* Any array-like as one view: where its elements lie, what they are and how many. NumPy arrays,
 * buffers, sequences and scalars become views of the host's memory; objects with DLPack or
 * __cuda_array_interface__ become views of the memory that they offer, as it lies. */
#pragma once

#include "arrays/view.h"

/* False with an exception set. */
bool array_view(PyObject *object, const struct view_request *, struct view *view);

/* Whether the object is an array of NumPy's, or of a class derived from that, or offers its memory
 * as it lies. */
bool array_offers_memory(PyObject *object);

/* Whether the object is an array of NumPy's own class, with elements that simply lie there: one
 * after the other, aligned and in this machine's byte order, of a type that needs no asking. Then
 * the layout is filled in as layout_normalise would leave it, but for the type that elements are
 * converted to; the object keeps the memory. */
bool array_lies_flat(PyObject *object, struct layout *layout);

/* Whether the elements are still where they were when the array was viewed: the code of a later
 * argument may have resized NumPy's array, whoever else refers to it. To be asked once no more of
 * that code runs, before the first element is read. False with an exception set. */
bool array_still_lies(const struct view *, const char *name);

void array_release(struct view *view);

/* A view of an array of bools, made of such an array or of what NumPy takes for true and false in
 * Python. Arrays of other types are refused, and so are objects that are no arrays: NumPy takes
 * them for true, whatever they hold. False with an exception set. */
bool array_of_bools(PyObject *object, const char *name, struct view *view);

/* Sets up all that views are made with; -1 with an exception set. */
int array_setup(void);
