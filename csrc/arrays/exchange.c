#include "arrays/array.h"
#include "arrays/protocols.h"

#include "common/failure.h"

/* The part that is common to all versions. */
struct header {
    uint32_t major, minor;
    const struct header *previous; /* NULL: none */
};

/* Version 1. Functions need the GIL, do not block, and return 0, or -1 with an exception set. */
struct exchange {
    struct header header;
    int (*allocate)(struct dl_tensor *prototype, struct dl_versioned **, void *context,
                    void (*set_error)(void *context, const char *kind, const char *message));
    int (*export)(PyObject *, struct dl_versioned **);   /* exports an owned tensor */
    int (*import)(struct dl_versioned *, void **object); /* imports a tensor and owns it */
    int (*borrow)(PyObject *, struct dl_tensor *); /* borrowed until other code runs; or NULL */
    int (*current_stream)(int32_t device_type, int32_t device, void **stream);
};

/* The capsule of the nearest base class that has one, unless a class derived from that one has a
 * protocol of its own, which takes precedence. Nothing is cached from call to call, so that types
 * may be created, changed and destroyed. NULL without an exception if there is none. */
static PyObject *find_capsule(PyTypeObject *type)
{
    Py_ssize_t k;
    OWNED *classes = Py_XNewRef(type->tp_mro);
    PyObject *capsule = mro_attribute(classes, names.__dlpack_c_exchange_api__, &k);
    while (capsule && k-- > 0) {
        PyObject *class = PyTuple_GET_ITEM(classes, k);
        OWNED *dlpack = class_own_attribute(class, names.__dlpack__);
        OWNED *interface = class_own_attribute(class, names.__cuda_array_interface__);
        if (dlpack || interface)
            Py_CLEAR(capsule);
    }
    return capsule;
}

static bool is_older(const struct header *a, const struct header *b)
{
    return a->major < b->major || (a->major == b->major && a->minor < b->minor);
}

/* The functions of the newest supported version, and in *capsule a new reference that keeps them;
 * NULL if there are none. Versions must get older along the list, so that the search ends. */
static const struct exchange *find_exchange(PyTypeObject *type, PyObject **capsule)
{
    static const char name[] = "dlpack_exchange_api";
    *capsule = find_capsule(type);
    const struct header *header =
        *capsule && PyCapsule_IsValid(*capsule, name) ? PyCapsule_GetPointer(*capsule, name) : NULL;
    while (header && header->major > DLPACK_MAJOR)
        header = header->previous && is_older(header->previous, header) ? header->previous : NULL;
    const struct exchange *exchange = (const struct exchange *)header;
    if (header && header->major == DLPACK_MAJOR && exchange->export && exchange->current_stream)
        return exchange;
    Py_CLEAR(*capsule);
    return NULL;
}

/* The same, from the cache if the object's class is that of the previous one. */
static const struct exchange *find_cached_exchange(PyObject *object, struct exchange_cache *cache,
                                                   PyObject **capsule)
{
    PyTypeObject *const type = Py_TYPE(object);
    if (cache && cache->class == (PyObject *)type) {
        *capsule = Py_NewRef(cache->capsule);
        return cache->exchange;
    }
    const struct exchange *exchange = find_exchange(type, capsule);
    if (cache && exchange) {
        Py_XSETREF(cache->class, Py_NewRef((PyObject *)type));
        Py_XSETREF(cache->capsule, Py_NewRef(*capsule));
        cache->exchange = exchange;
        cache->is_torch = torch_is_tensor(object);
    }
    return exchange;
}

/* ---- views: false on failure, with or without an exception ---- */

/* Some functions fail without setting an exception, and some set one and return 0. */
static bool succeeded(int status)
{
    return status == 0 && !PyErr_Occurred();
}

/* Reads all but the owner. The producer's stream is the library's current one. */
static bool read_tensor(const struct exchange *exchange, const struct dl_tensor *tensor,
                        const char *name, struct view *view)
{
    if (!dlpack_begin(view, tensor->device_type, name) || !dlpack_read(tensor, name, view))
        return false;
    if (!view->on_device)
        return true;
    void *handle = NULL;
    const int status = exchange->current_stream(tensor->device_type, tensor->device, &handle);
    view->producer.given = true;
    view->producer.handle = handle ? (uintptr_t)handle : LEGACY_DEFAULT_STREAM;
    return succeeded(status);
}

/* The memory stays in place as long as the object is alive. */
static bool view_borrowed(const struct exchange *exchange, PyObject *object, const char *name,
                          struct view *view)
{
    struct dl_tensor tensor = {.data = NULL};
    if (!succeeded(exchange->borrow(object, &tensor)) ||
        !read_tensor(exchange, &tensor, name, view))
        return false;
    view->held.owner = Py_NewRef(object);
    return true;
}

static bool view_exported(const struct exchange *exchange, PyObject *object, const char *name,
                          struct view *view)
{
    struct dl_versioned *versioned = NULL;
    const int status = exchange->export(object, &versioned);
    const bool read = versioned && succeeded(status) && dlpack_check_version(versioned, name) &&
                      read_tensor(exchange, &versioned->tensor, name, view);
    if (status == 0 && versioned)
        dlpack_adopt(&view->held, versioned, DLPACK_VERSIONED);
    if (read)
        view->read_only = dlpack_read_only_reason(versioned, view->on_device);
    return read;
}

/* Only an owned tensor says whether it may be written. PyTorch exports memory as it is, also of
 * tensors that require grad or are yet to be conjugated or negated; these give 0. 1, 0 or -1. */
static int try_exchange(const struct exchange *exchange, PyObject *object,
                        const struct view_request *request, struct view *view)
{
    const bool viewed = exchange->borrow && !request->in_place
                            ? view_borrowed(exchange, object, request->name, view)
                            : view_exported(exchange, object, request->name, view);
    if (!viewed) {
        array_release(view);
        return -1;
    }
    const bool known = request->cache && request->cache->class == (PyObject *)Py_TYPE(object);
    const bool is_torch = known ? request->cache->is_torch : torch_is_tensor(object);
    const int exportable =
        is_torch ? torch_is_exportable(object, element_is_complex(view->layout.input)) : 1;
    if (exportable <= 0)
        array_release(view);
    return exportable;
}

int exchange_view(PyObject *object, const struct view_request *request, struct view *view)
{
    OWNED *capsule = NULL;
    const struct exchange *exchange = find_cached_exchange(object, request->cache, &capsule);
    const int viewed = exchange ? try_exchange(exchange, object, request, view) : 0;
    if (viewed >= 0 || (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)))
        return viewed;
    PyErr_Clear(); /* the other protocols may work or explain better */
    return 0;
}

/* ---- new tensors ---- */

/* An allocator's error callback, possibly called without the GIL. */
static void report_error(void *failure, const char *kind, const char *message)
{
    failure_record(failure, kind && strstr(kind, "Memory") ? FAILURE_MEMORY : FAILURE_RUNTIME, "%s",
                   message && *message
                       ? message
                       : "the array's library failed to allocate an array and set no exception");
}

static void ensure_exception(struct failure *failure)
{
    report_error(failure, NULL, NULL); /* unless the allocator gave a message */
    if (!PyErr_Occurred())
        failure_raise(failure);
}

/* A new tensor, to be released. NULL with an exception set. */
static struct dl_versioned *allocate(const struct exchange *exchange,
                                     const struct result_request *request)
{
    int64_t shape[DIMENSIONS_MAX];
    struct dl_tensor prototype = {.dimensions = (int32_t)request->dimensions, .shape = shape};
    struct dl_versioned *allocated = NULL;
    struct failure failure = {0};
    for (unsigned k = 0; k < request->dimensions; k++)
        shape[k] = (int64_t)request->shape[k];
    dlpack_describe(&prototype, request->device, request->type);
    if (succeeded(exchange->allocate(&prototype, &allocated, &failure, report_error)) && allocated)
        return allocated;
    ensure_exception(&failure);
    return NULL;
}

/* Whether a new tensor has the requested shape, is in C order and has memory. */
static bool matches_request(const struct dl_versioned *new, const struct result_request *request)
{
    const struct dl_tensor *tensor = &new->tensor;
    if (new->major != DLPACK_MAJOR || tensor->dimensions != (int32_t)request->dimensions)
        return false;
    uint64_t n = 1;
    for (unsigned k = request->dimensions; k-- > 0; n *= request->shape[k])
        if (tensor->shape[k] != (int64_t)request->shape[k] ||
            (tensor->strides && tensor->shape[k] > 1 && tensor->strides[k] != (int64_t)n))
            return false;
    return tensor->data || n == 0;
}

int exchange_allocate(const struct result_request *request, struct result_memory *self, void **data)
{
    const struct exchange *exchange = find_exchange(Py_TYPE(request->like), &self->capsule);
    if (!exchange || !exchange->allocate || !exchange->import) {
        Py_CLEAR(self->capsule);
        return 0;
    }
    self->functions = exchange;
    self->tensor = allocate(exchange, request);
    if (self->tensor && matches_request(self->tensor, request)) {
        *data = (char *)self->tensor->tensor.data + self->tensor->tensor.byte_offset;
        return 1;
    }
    if (self->tensor)
        PyErr_SetString(PyExc_RuntimeError, "the array's library allocated an array of another "
                                            "type, shape or device than requested");
    exchange_release(self);
    return -1;
}

PyObject *exchange_array(struct result_memory *self)
{
    void *object = NULL;
    const bool imported = succeeded(self->functions->import(self->tensor, &object));
    Py_CLEAR(self->capsule);
    if (!imported || !object)
        ensure_exception(&(struct failure){0});
    return imported ? object : NULL;
}

/* Deleters are third-party code and may run while an exception is set, which is therefore saved. */
void exchange_release(struct result_memory *self)
{
    if (!self->capsule)
        return;
    const struct saved_exception saved = exception_save();
    if (self->tensor && self->tensor->deleter)
        self->tensor->deleter(self->tensor);
    exception_restore(saved, true);
    Py_CLEAR(self->capsule);
}
