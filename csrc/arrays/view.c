#define _GNU_SOURCE

#include <Python.h>

#include "arrays/view.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
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

enum element element_find(const char *name)
{
    enum element element = 0;
    while (element < ELEMENTS && strcmp(name, element_name(element)) != 0)
        element++;
    return element;
}

void view_init(struct view *view, bool on_device)
{
    view_init_empty(view);
    view->layout.mask = NULL;
    view->layout.swapped = false;
    view->read_only = NULL;
    view->on_device = on_device;
    view->platform = NULL;
    view->device = 0;
    view->allocation = (struct extent){0, 0};
}

bool view_set_size(struct view *view, const char *name, const struct view_terms *terms)
{
    const struct layout *layout = &view->layout;
    bool empty = false;
    for (unsigned k = 0; k < layout->dimensions; k++) {
        if ((int64_t)layout->shape[k] < 0)
            return value_error("%s: %s[%u] is %lld; it must not be negative", name, terms->shape, k,
                               (long long)layout->shape[k]);
        empty |= layout->shape[k] == 0;
    }
    view->n = !empty;
    for (unsigned k = 0; k < layout->dimensions; k++)
        if (__builtin_mul_overflow(view->n, layout->shape[k], &view->n) ||
            view->n > INT64_MAX / 128)
            return value_error("%s: %s has more elements than memory can hold", name, terms->shape);
    return true;
}

void view_set_c_order(struct layout *layout)
{
    uint64_t stride = element_size(layout->input);
    for (unsigned k = layout->dimensions; k-- > 0;) {
        layout->strides[k] = (int64_t)stride;
        stride *= layout->shape[k];
    }
}

/* From the lowest element's first byte to the highest's last; distances have to fit 64 bits. */
static bool is_addressable(const struct layout *layout)
{
    __int128 lowest = (uintptr_t)layout->data, highest = lowest + element_size(layout->input);
    for (unsigned k = 0; k < layout->dimensions; k++) {
        const __int128 distance = (__int128)(layout->shape[k] - 1) * layout->strides[k];
        *(distance < 0 ? &lowest : &highest) += distance;
    }
    return lowest >= 0 && highest <= UINT64_MAX && highest - lowest <= INT64_MAX;
}

/* Devices read complex numbers as pairs, so half of complex128's size is enough. */
static bool check_alignment(const struct layout *layout, const char *name,
                            const struct view_terms *terms)
{
    const size_t size = element_size(layout->input), alignment = size < 8 ? size : 8;
    if ((uintptr_t)layout->data % alignment)
        return value_error("%s: %s is %p, which is not aligned to its %zu-byte elements", name,
                           terms->data, layout->data, size);
    for (unsigned k = 0; k < layout->dimensions; k++)
        if (layout->strides[k] % (int64_t)alignment)
            return value_error("%s: %s[%u] is %lld, which leaves the %zu-byte elements not aligned",
                               name, terms->strides, k, (long long)layout->strides[k], size);
    return true;
}

bool view_validate(struct view *view, const char *name, const struct view_terms *terms)
{
    struct layout *layout = &view->layout;
    for (unsigned k = 0; k < layout->dimensions; k++)
        if (view->n == 0 || layout->shape[k] == 1)
            layout->strides[k] = 0;
    if (view->n == 0)
        return true;
    if (!layout->data)
        return value_error("%s: %s is a null pointer for %llu elements", name, terms->data,
                           (unsigned long long)view->n);
    if (!is_addressable(layout))
        return value_error("%s: %s is %p, from which %s reach outside the address space", name,
                           terms->data, layout->data, terms->strides);
    return !view->on_device || check_alignment(layout, name, terms);
}

/* ---- streams ---- */

/* rt_sigprocmask with an invalid `how` reads the set before it fails, and changes nothing: EFAULT
 * means unreadable memory. Other system calls take ten times as long. */
static bool is_readable(uintptr_t address)
{
    enum { BAD_HOW = -1, SET_BYTES = _NSIG / 8 };
    return syscall(SYS_rt_sigprocmask, BAD_HOW, address, NULL, SET_BYTES) == 0 || errno != EFAULT;
}

/* Recent handles that CUDA accepted as streams. Probing memory takes longer than all other checks
 * of a stream. A stream that was destroyed since is safe: CUDA rarely returns memory of that size
 * to the operating system, so it can still recognize the handle. */
static _Atomic(uintptr_t) *known_slot(uintptr_t handle)
{
    enum { KNOWN = 16, LOW = 6, HIGH = 12 };
    static _Atomic(uintptr_t) known[KNOWN];
    return &known[(handle >> LOW ^ handle >> HIGH) % KNOWN];
}

bool stream_is_readable(uintptr_t handle)
{
    enum { BYTES = 64, PAGE_MIN = 4096 };
    if (handle <= PER_THREAD_DEFAULT_STREAM) /* default streams are not pointers */
        return true;
    if (atomic_load_explicit(known_slot(handle), memory_order_relaxed) == handle)
        return true;
    const uintptr_t last = handle + BYTES - sizeof(uint64_t);
    return is_readable(handle) && (handle / PAGE_MIN == last / PAGE_MIN || is_readable(last));
}

void stream_mark_valid(uintptr_t handle)
{
    atomic_store_explicit(known_slot(handle), handle, memory_order_relaxed);
}
