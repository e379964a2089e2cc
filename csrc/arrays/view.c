#define _GNU_SOURCE

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays/view.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum element view_element(char kind, size_t size)
{
    static const char kinds[ELEMENTS + 1] = "biiiiuuuufVffcc";
    enum element element = 0;
    while (element < ELEMENTS && (kinds[element] != kind || element_size(element) != size))
        element++;
    return element;
}

void view_begin(struct view *view, bool on_device)
{
    view->layout.mask = NULL;
    view->layout.swapped = false;
    memset(&view->n, 0, sizeof *view - offsetof(struct view, n));
    view->on_device = on_device;
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

/* ---- streams ---- */

/* Asked for a way to change signals that there is none, the kernel reads the set, says that it
 * cannot, or else that there is no such way, and changes nothing. Other questions take it ten times
 * as long. */
static bool is_readable(uintptr_t address)
{
    enum { NO_WAY = -1, SET_BYTES = _NSIG / 8 };
    return syscall(SYS_rt_sigprocmask, NO_WAY, address, NULL, SET_BYTES) == 0 || errno != EFAULT;
}

/* Handles that CUDA took for streams' when it last saw them. To ask takes longer than all else that
 * is asked of a stream; and who destroys one leaves what CUDA recognises, since it rarely gives
 * memory of that size back to the operating system. */
static _Atomic(uintptr_t) *known_place(uintptr_t handle)
{
    enum { KNOWN = 16, LOW = 6, HIGH = 12 };
    static _Atomic(uintptr_t) known[KNOWN];
    return &known[(handle >> LOW ^ handle >> HIGH) % KNOWN];
}

bool stream_is_readable(uintptr_t handle)
{
    enum { BYTES = 64, PAGE_MIN = 4096 };
    if (handle <= PER_THREAD_DEFAULT_STREAM) /* the default streams are no pointers */
        return true;
    if (atomic_load_explicit(known_place(handle), memory_order_relaxed) == handle)
        return true;
    const uintptr_t last = handle + BYTES - sizeof(uint64_t);
    return is_readable(handle) && (handle / PAGE_MIN == last / PAGE_MIN || is_readable(last));
}

void stream_is_known(uintptr_t handle)
{
    atomic_store_explicit(known_place(handle), handle, memory_order_relaxed);
}
