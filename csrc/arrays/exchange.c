#include "arrays/exchange.h"

#include "arrays/dltensor.h"
#include "arrays/libraries.h"
#include "arrays/objects.h"
#include "arrays/stream.h"

#include <stdio.h>
#include <string.h>

/* ---- the functions ---- */

/* What stays as it is in all versions. */
struct header {
    uint32_t major, minor;
    const struct header *older; /* NULL: there is none */
};

/* As version 1 has it. The functions need the GIL, wait for nothing, and return 0, or -1 with an
 * exception set. */
struct exchange {
    struct header header;
    int (*allocate)(struct dl_tensor *prototype, struct dl_versioned **, void *context,
                    void (*set_error)(void *context, const char *kind, const char *message));
    int (*give)(PyObject *, struct dl_versioned **);   /* to be owned */
    int (*take)(struct dl_versioned *, void **object); /* owns it from then on */
    int (*show)(PyObject *, struct dl_tensor *); /* to be read while nothing else is run; or NULL */
    int (*current_stream)(int32_t device_type, int32_t device, void **stream);
};

/* ---- finding them ---- */

/* A protocol of its own. */
static bool has_another(PyObject *class)
{
    PyObject *dlpack = class_own_attribute(class, names.__dlpack__);
    PyObject *other = class_own_attribute(class, names.__cuda_array_interface__);
    const bool has = dlpack || other;
    Py_XDECREF(other);
    Py_XDECREF(dlpack);
    return has;
}

/* What the nearest class with such functions offers; but one that is derived from it, and has a
 * protocol of its own, means that one. Nothing is kept from call to call, so that types may come,
 * change and go. NULL without an exception if there is none. */
static PyObject *find_offer(PyTypeObject *type)
{
    PyObject *classes = Py_XNewRef(type->tp_mro), *offer = NULL;
    const Py_ssize_t count = classes ? PyTuple_GET_SIZE(classes) : 0;
    Py_ssize_t k = 0;
    while (k < count && !(offer = class_own_attribute(PyTuple_GET_ITEM(classes, k),
                                                      names.__dlpack_c_exchange_api__)))
        k++;
    while (offer && k-- > 0)
        if (has_another(PyTuple_GET_ITEM(classes, k)))
            Py_CLEAR(offer);
    Py_XDECREF(classes);
    return offer;
}

static bool is_older(const struct header *a, const struct header *b)
{
    return a->major < b->major || (a->major == b->major && a->minor < b->minor);
}

/* The newest version that is understood; NULL if there is none. Each has to be older than the one
 * before, so that the search ends. */
static const struct exchange *find_exchange(PyObject *offer)
{
    static const char name[] = "dlpack_exchange_api";
    if (!PyCapsule_IsValid(offer, name))
        return NULL;
    const struct header *header = PyCapsule_GetPointer(offer, name);
    while (header && header->major > DLTENSOR_MAJOR)
        header = header->older && is_older(header->older, header) ? header->older : NULL;
    if (!header || header->major != DLTENSOR_MAJOR)
        return NULL;
    const struct exchange *exchange = (const struct exchange *)header;
    return exchange->give && exchange->current_stream ? exchange : NULL;
}

bool exchange_is_offered(PyTypeObject *type)
{
    PyObject *offer = find_offer(type);
    const bool is = offer && find_exchange(offer);
    Py_XDECREF(offer);
    return is;
}

/* ---- calling them: false is failure, with an exception or without ---- */

/* Some that fail may not say why, and some that say so may not know that they fail. */
static bool succeeded(int status)
{
    return status == 0 && !PyErr_Occurred();
}

/* The stream that the library's work goes to at present. */
static bool ask_stream(const struct exchange *exchange, const struct dl_tensor *tensor,
                       struct stream *stream)
{
    void *handle = NULL;
    const int status = exchange->current_stream(tensor->device_type, tensor->device, &handle);
    *stream = (struct stream){
        .given = true,
        .handle = handle ? (uintptr_t)handle : LEGACY_DEFAULT_STREAM,
    };
    return succeeded(status);
}

/* All but the owner. */
static bool read_tensor(const struct exchange *exchange, const struct dl_tensor *tensor,
                        const char *name, struct view *view)
{
    return dltensor_begin(view, tensor->device_type, name) && dltensor_read(tensor, name, view) &&
           (!view->on_device || ask_stream(exchange, tensor, &view->producer));
}

/* The memory stays where it is for as long as the object does. */
static bool view_shown(const struct exchange *exchange, PyObject *object, const char *name,
                       struct view *view)
{
    struct dl_tensor tensor = {.data = NULL};
    if (!succeeded(exchange->show(object, &tensor)) || !read_tensor(exchange, &tensor, name, view))
        return false;
    view->owner = Py_NewRef(object);
    return true;
}

static bool view_held(const struct exchange *exchange, const struct dl_versioned *versioned,
                      const char *name, struct view *view)
{
    if (!dltensor_check_version(versioned, name) ||
        !read_tensor(exchange, &versioned->tensor, name, view))
        return false;
    view->read_only = dltensor_why_read_only(versioned, view->on_device);
    return true;
}

static bool view_given(const struct exchange *exchange, PyObject *object, const char *name,
                       struct view *view)
{
    PyObject *holder = dltensor_holder();
    struct dl_versioned *versioned = NULL;
    const int status = holder ? exchange->give(object, &versioned) : -1;
    if (status == 0 && versioned)
        dltensor_hold(holder, versioned, DLTENSOR_VERSIONED);
    const bool viewed =
        versioned && succeeded(status) && view_held(exchange, versioned, name, view);
    if (viewed)
        view->owner = Py_NewRef(holder);
    Py_XDECREF(holder);
    return viewed;
}

/* Only a tensor that is given says whether it may be written. */
static bool view_by(const struct exchange *exchange, PyObject *object,
                    const struct view_request *request, struct view *view)
{
    return exchange->show && !request->in_place ? view_shown(exchange, object, request->name, view)
                                                : view_given(exchange, object, request->name, view);
}

/* PyTorch's functions show memory as it is, whatever would become of it on its way to a reader. 1,
 * 0 or -1. */
static int view_plain(const struct exchange *exchange, PyObject *object,
                      const struct view_request *request, struct view *view)
{
    if (!view_by(exchange, object, request, view))
        return -1;
    const int plain = torch_is_plain(object, element_is_complex(view->layout.input));
    if (plain <= 0)
        Py_CLEAR(view->owner);
    return plain;
}

int exchange_view(PyObject *object, const struct view_request *request, struct view *view)
{
    PyObject *offer = find_offer(Py_TYPE(object));
    const struct exchange *exchange = offer ? find_exchange(offer) : NULL;
    const int viewed = exchange ? view_plain(exchange, object, request, view) : 0;
    Py_XDECREF(offer);
    if (viewed >= 0 || (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)))
        return viewed;
    PyErr_Clear(); /* the other protocols can do it, or tell better why not */
    return 0;
}

/* ---- new tensors ---- */

/* What an allocator says that went wrong. */
struct complaint {
    bool of_memory;
    char text[256];
};

/* It may say so without the GIL. */
static void complain(void *context, const char *kind, const char *message)
{
    struct complaint *complaint = context;
    complaint->of_memory = kind && strstr(kind, "Memory");
    snprintf(complaint->text, sizeof complaint->text, "%s", message ? message : "");
}

static bool raise_failure(const struct complaint *complaint)
{
    if (!PyErr_Occurred())
        PyErr_SetString(complaint->of_memory ? PyExc_MemoryError : PyExc_RuntimeError,
                        *complaint->text
                            ? complaint->text
                            : "the array's library could not make another, and does not say why");
    return false;
}

/* A new tensor, which is to be released. NULL with an exception set. */
static struct dl_versioned *allocate(const struct exchange *exchange,
                                     const struct result_request *request)
{
    int64_t shape[DIMENSIONS_MAX];
    struct dl_tensor prototype = {.dimensions = (int32_t)request->dimensions, .shape = shape};
    struct dl_versioned *made = NULL;
    struct complaint complaint = {.of_memory = false};
    for (unsigned k = 0; k < request->dimensions; k++)
        shape[k] = (int64_t)request->shape[k];
    dltensor_describe(&prototype, request->device, request->type);
    if (succeeded(exchange->allocate(&prototype, &made, &complaint, complain)) && made)
        return made;
    raise_failure(&complaint);
    return NULL;
}

/* Deleters are anybody's code, and an exception is on its way. */
static void drop(struct dl_versioned *made)
{
    const struct raised under_way = raised_set_aside();
    if (made->deleter)
        made->deleter(made);
    raised_again(under_way);
}

int exchange_allocate(const struct result_request *request, struct exchange_memory *memory,
                      void **at)
{
    PyObject *offer = find_offer(Py_TYPE(request->like));
    const struct exchange *exchange = offer ? find_exchange(offer) : NULL;
    const bool can = exchange && exchange->allocate && exchange->take;
    struct dl_versioned *made = can ? allocate(exchange, request) : NULL;
    *memory = (struct exchange_memory){made ? offer : NULL, exchange, made};
    if (!made)
        Py_XDECREF(offer);
    if (!can)
        return 0;
    if (made && dltensor_check_new(made, request->dimensions, request->shape, at))
        return 1;
    exchange_release(memory);
    return -1;
}

PyObject *exchange_array(struct exchange_memory *memory)
{
    void *object = NULL;
    const bool taken = succeeded(memory->functions->take(memory->tensor, &object));
    Py_CLEAR(memory->offer);
    if (!taken || !object)
        raise_failure(&(struct complaint){.of_memory = false});
    return taken ? object : NULL;
}

void exchange_release(struct exchange_memory *memory)
{
    if (memory->offer)
        drop(memory->tensor);
    Py_CLEAR(memory->offer);
}
