#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays/view.h"

static const struct {
    char kind;
    unsigned char size;
    enum element element;
} elements[] = {
    {'f', 4, ELEMENT_FLOAT32},  {'f', 8, ELEMENT_FLOAT64},   {'f', 2, ELEMENT_FLOAT16},
    {'V', 2, ELEMENT_BFLOAT16}, {'b', 1, ELEMENT_BOOL},      {'i', 1, ELEMENT_INT8},
    {'i', 2, ELEMENT_INT16},    {'i', 4, ELEMENT_INT32},     {'i', 8, ELEMENT_INT64},
    {'u', 1, ELEMENT_UINT8},    {'u', 2, ELEMENT_UINT16},    {'u', 4, ELEMENT_UINT32},
    {'u', 8, ELEMENT_UINT64},   {'c', 8, ELEMENT_COMPLEX64}, {'c', 16, ELEMENT_COMPLEX128},
};

enum element view_element(char kind, size_t size)
{
    for (size_t k = 0; k < sizeof elements / sizeof *elements; k++)
        if (elements[k].kind == kind && elements[k].size == size)
            return elements[k].element;
    return ELEMENTS;
}

PyObject *view_integer(PyObject *object)
{
    return PyLong_Check(object) ? Py_NewRef(object) : PyNumber_Index(object);
}

void view_begin(struct view *view, bool on_device)
{
    view->layout.mask = NULL;
    view->layout.swapped = false;
    view->read_only = NULL;
    view->on_device = on_device;
    view->producer = (struct stream){.given = false};
    view->platform = NULL;
    view->device = 0;
    view->owner = NULL;
    view->pin = NULL;
    view->unpin = NULL;
}

bool view_count(struct view *view, const char *name, const struct view_terms *terms)
{
    const struct layout *layout = &view->layout;
    bool empty = false;
    for (unsigned k = 0; k < layout->dimensions; k++) {
        if ((int64_t)layout->shape[k] < 0)
            return PyErr_Format(PyExc_ValueError, "%s: %s[%u] is %lld; it must not be negative",
                                name, terms->shape, k, (long long)layout->shape[k]);
        empty |= layout->shape[k] == 0;
    }
    view->n = !empty;
    for (unsigned k = 0; k < layout->dimensions; k++)
        if (__builtin_mul_overflow(view->n, layout->shape[k], &view->n) ||
            view->n > INT64_MAX / 128)
            return PyErr_Format(PyExc_ValueError, "%s: %s has more elements than memory can hold",
                                name, terms->shape);
    return true;
}

void view_in_c_order(struct layout *layout)
{
    uint64_t stride = element_size(layout->input);
    for (unsigned k = layout->dimensions; k-- > 0;) {
        layout->strides[k] = (int64_t)stride;
        stride *= layout->shape[k];
    }
}

/* No step is ever taken along a dimension of one element, so its stride may be anything. */
static void clear_unused_strides(struct layout *layout, uint64_t n)
{
    for (unsigned k = 0; k < layout->dimensions; k++)
        if (n == 0 || layout->shape[k] == 1)
            layout->strides[k] = 0;
}

/* The bytes from the first of the lowest element to the last of the highest, as distances from the
 * pointer. False if they do not fit 64 bits, or if their difference does not. */
static bool measure_extent(const struct layout *layout, int64_t *lowest, int64_t *highest)
{
    *lowest = 0;
    *highest = (int64_t)element_size(layout->input);
    for (unsigned k = 0; k < layout->dimensions; k++) {
        int64_t distance;
        if (__builtin_mul_overflow((int64_t)layout->shape[k] - 1, layout->strides[k], &distance))
            return false;
        int64_t *end = distance < 0 ? lowest : highest;
        if (__builtin_add_overflow(*end, distance, end))
            return false;
    }
    int64_t span;
    return !__builtin_sub_overflow(*highest, *lowest, &span);
}

static bool is_addressable(const struct layout *layout)
{
    const uint64_t address = (uintptr_t)layout->data;
    int64_t lowest, highest;
    uint64_t end;
    return measure_extent(layout, &lowest, &highest) && address >= (uint64_t)-lowest &&
           !__builtin_add_overflow(address, (uint64_t)highest, &end);
}

/* Devices read complex numbers as pairs, so that half of complex128's size is enough. */
static bool check_alignment(const struct layout *layout, const char *name,
                            const struct view_terms *terms)
{
    const size_t size = element_size(layout->input), alignment = size < 8 ? size : 8;
    if ((uintptr_t)layout->data % alignment)
        return PyErr_Format(PyExc_ValueError,
                            "%s: %s is %p, which is not aligned to its %zu-byte elements", name,
                            terms->data, layout->data, size);
    for (unsigned k = 0; k < layout->dimensions; k++)
        if (layout->strides[k] % (int64_t)alignment)
            return PyErr_Format(
                PyExc_ValueError,
                "%s: %s[%u] is %lld, which leaves the %zu-byte elements not aligned", name,
                terms->strides, k, (long long)layout->strides[k], size);
    return true;
}

bool view_check(struct view *view, const char *name, const struct view_terms *terms)
{
    struct layout *layout = &view->layout;
    clear_unused_strides(layout, view->n);
    if (view->n == 0)
        return true;
    if (!layout->data)
        return PyErr_Format(PyExc_ValueError, "%s: %s is a null pointer for %llu elements", name,
                            terms->data, (unsigned long long)view->n);
    if (!is_addressable(layout))
        return PyErr_Format(PyExc_ValueError,
                            "%s: %s is %p, from where %s lead to addresses that do not exist", name,
                            terms->data, layout->data, terms->strides);
    return !view->on_device || check_alignment(layout, name, terms);
}
