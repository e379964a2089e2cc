/* Any array-like as one view: where its elements lie, what they are and how many. NumPy arrays,
 * buffers, sequences and scalars become views of the host's memory; objects with DLPack or
 * __cuda_array_interface__ become views of the memory that they offer, as it lies. */
#pragma once

#include "arrays/view.h"
#include "common/scalar.h"

/* False with an exception set. */
bool array_view(PyObject *object, const struct view_request *, struct view *view);

/* Whether the object is an array of NumPy's, or of a class derived from that. */
bool array_is_numpys(PyObject *object);

/* Whether the object is such an array, or offers its memory as it lies. */
bool array_offers_memory(PyObject *object);

/* Whether the object is an array of NumPy's own class, with elements that simply lie there: one
 * after the other, aligned and in this machine's byte order, of a type that needs no asking. Then
 * the layout is filled in as layout_normalise would leave it, but for the type that elements are
 * converted to; the object keeps the memory. */
bool array_lies_flat(PyObject *object, struct layout *layout);

/* Needs the GIL. */
void array_release(struct view *view);

/* The element type that NumPy's dtype, or anything that names one, stands for. False with a
 * TypeError that says what is supported. */
bool array_element(PyObject *dtype, const char *name, enum element *element);

/* The least type that both can be cast to, as NumPy has it, and beside it: bfloat16 stays bfloat16
 * with bool and integers of 8 bits, all of which it holds, and is as good as float32 with others.
 * False with an exception set. */
bool array_promote(enum element, enum element, enum element *promoted);

/* A view of an array of bools, made of such an array or of what NumPy takes for true and false in
 * Python. Arrays of other types are refused, and so are objects that are no arrays: NumPy takes
 * them for true, whatever they hold. False with an exception set. */
bool array_of_bools(PyObject *object, const char *name, struct view *view);

/* NumPy's scalar of one value. A bfloat16 is one of ml_dtypes, or a float32 without that. */
PyObject *array_scalar(union scalar value, enum element element);

/* A new NumPy array in C order of that shape, of what is broadcast to it, and where its elements
 * begin; NULL with an exception set. Complex numbers are refused unless `takes_complex`. */
PyObject *array_broadcast(PyObject *object, const char *name, bool takes_complex,
                          unsigned dimensions, const uint64_t *shape,
                          const struct complex128 **elements);

/* The value of an element of that type that a Python object is assigned to, with NumPy's
 * exceptions. */
bool array_value(PyObject *object, enum element element, union scalar *value);

/* A new NumPy array in C order, not filled, and where its elements begin. A bfloat16 is one of
 * ml_dtypes; without that *element becomes float32. NULL with an exception set. */
PyObject *array_new(unsigned dimensions, const uint64_t *shape, enum element *element,
                    void **elements);

/* Whether it is what NumPy passes on for an argument that was left out: numpy._NoValue. */
bool array_is_no_value(PyObject *object);

/* Imports NumPy's C interface; -1 with an exception set. */
int array_setup(void);
