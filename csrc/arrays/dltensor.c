#include "arrays/dltensor.h"

#include "arrays/objects.h"

enum { DEVICE_CPU = 1, DEVICE_CUDA = 2, DEVICE_CUDA_HOST = 3, DEVICE_CUDA_MANAGED = 13 };

enum { FLAG_READ_ONLY = 1, FLAG_COPIED = 2 };

static const struct view_terms terms = {
    .shape = "the DLPack tensor's shape",
    .strides = "the DLPack tensor's strides",
    .data = "the DLPack tensor's data",
};

/* ---- reading ---- */

bool dltensor_is_on_device(int device_type)
{
    return device_type == DEVICE_CUDA || device_type == DEVICE_CUDA_MANAGED;
}

bool dltensor_is_supported(int device_type)
{
    return device_type == DEVICE_CPU || device_type == DEVICE_CUDA_HOST ||
           dltensor_is_on_device(device_type);
}

bool dltensor_begin(struct view *view, int device_type, const char *name)
{
    view_begin(view, dltensor_is_on_device(device_type));
    if (dltensor_is_supported(device_type))
        return true;
    return PyErr_Format(PyExc_TypeError,
                        "%s: DLPack's device type %d is not supported; CPU and CUDA memory is",
                        name, device_type);
}

static const char kinds[] = {
    [0] = 'i', [1] = 'u', [2] = 'f', [4] = 'V', [5] = 'c', [6] = 'b',
};

static bool read_type(const struct dl_tensor *tensor, const char *name, struct layout *layout)
{
    enum element element = ELEMENTS;
    if (tensor->code < sizeof kinds && tensor->bits % 8 == 0 && tensor->lanes == 1)
        element = view_element(kinds[tensor->code], tensor->bits / 8);
    if (element == ELEMENTS)
        return PyErr_Format(
            PyExc_TypeError,
            "%s: DLPack's element type (code %d, bits %d, lanes %d) is not supported; the "
            "supported ones are %s",
            name, tensor->code, tensor->bits, tensor->lanes, element_names());
    layout->input = layout->type = element;
    return true;
}

static bool read_shape(const struct dl_tensor *tensor, const char *name, struct view *view)
{
    if (tensor->dimensions < 0 || tensor->dimensions > DIMENSIONS_MAX)
        return PyErr_Format(PyExc_ValueError,
                            "%s: the DLPack tensor has %d dimensions; 0 to %d are possible", name,
                            (int)tensor->dimensions, DIMENSIONS_MAX);
    view->layout.dimensions = (unsigned)tensor->dimensions;
    if (tensor->dimensions && !tensor->shape)
        return PyErr_Format(PyExc_ValueError, "%s: %s is a null pointer for %d dimensions", name,
                            terms.shape, (int)tensor->dimensions);
    for (int k = 0; k < tensor->dimensions; k++)
        view->layout.shape[k] = (uint64_t)tensor->shape[k];
    return view_count(view, name, &terms);
}

static bool read_strides(const struct dl_tensor *tensor, const char *name, struct view *view)
{
    struct layout *layout = &view->layout;
    const int64_t size = (int64_t)element_size(layout->input);
    if (!tensor->strides) {
        view_in_c_order(layout);
        return true;
    }
    for (unsigned k = 0; k < layout->dimensions; k++) {
        const bool used = view->n && layout->shape[k] > 1;
        if (__builtin_mul_overflow(tensor->strides[k], size, &layout->strides[k]) && used)
            return PyErr_Format(PyExc_ValueError,
                                "%s: %s[%u] is %lld, whose bytes do not fit 64 bits", name,
                                terms.strides, k, (long long)tensor->strides[k]);
    }
    return true;
}

static bool read_data(const struct dl_tensor *tensor, const char *name, struct layout *layout)
{
    uint64_t address = (uintptr_t)tensor->data;
    if (!tensor->data) {
        layout->data = NULL;
        return true;
    }
    if (__builtin_add_overflow(address, tensor->byte_offset, &address))
        return PyErr_Format(PyExc_ValueError,
                            "%s: the DLPack tensor's byte offset %llu leads from %p to no address",
                            name, (unsigned long long)tensor->byte_offset, tensor->data);
    layout->data = (const void *)(uintptr_t)address;
    return true;
}

bool dltensor_read(const struct dl_tensor *tensor, const char *name, struct view *view)
{
    return read_type(tensor, name, &view->layout) && read_shape(tensor, name, view) &&
           read_strides(tensor, name, view) && read_data(tensor, name, &view->layout) &&
           view_check(view, name, &terms);
}

bool dltensor_check_version(const struct dl_versioned *versioned, const char *name)
{
    if (versioned->major == DLTENSOR_MAJOR)
        return true;
    return PyErr_Format(PyExc_TypeError, "%s: DLPack's version %u.%u is not supported; %d is", name,
                        (unsigned)versioned->major, (unsigned)versioned->minor, DLTENSOR_MAJOR);
}

/* Before there were versions, capsules did not tell. Libraries of GPU arrays wrote to each other's
 * all the same; on the host NumPy takes them for read-only, and some are: JAX's arrays never
 * change. */
const char *dltensor_why_read_only(const struct dl_versioned *versioned, bool on_device)
{
    if (!versioned)
        return on_device ? NULL
                         : "its DLPack capsule is of the form without a version, which does not "
                           "say that it may be written";
    if (versioned->flags & FLAG_READ_ONLY)
        return "its DLPack tensor says so";
    return versioned->flags & FLAG_COPIED ? "its DLPack tensor is of a copy" : NULL;
}

/* ---- new ones ---- */

void dltensor_describe(struct dl_tensor *tensor, int device, enum element element)
{
    unsigned code = 0;
    while (code + 1 < sizeof kinds &&
           (!kinds[code] || view_element(kinds[code], element_size(element)) != element))
        code++;
    tensor->device_type = DEVICE_CUDA;
    tensor->device = device;
    tensor->code = (uint8_t)code;
    tensor->bits = (uint8_t)(8 * element_size(element));
    tensor->lanes = 1;
}

/* Whether the strides are those of C order, where they matter. */
static bool is_in_c_order(const struct dl_tensor *tensor)
{
    int64_t stride = 1;
    for (int32_t k = tensor->dimensions; tensor->strides && k-- > 0; stride *= tensor->shape[k])
        if (tensor->shape[k] > 1 && tensor->strides[k] != stride)
            return false;
    return true;
}

bool dltensor_check_new(const struct dl_versioned *made, unsigned dimensions, const uint64_t *shape,
                        void **at)
{
    const struct dl_tensor *tensor = &made->tensor;
    bool fits = made->major == DLTENSOR_MAJOR && tensor->dimensions == (int32_t)dimensions;
    uint64_t n = 1;
    for (unsigned k = 0; fits && k < dimensions; k++) {
        fits = tensor->shape[k] == (int64_t)shape[k];
        n *= shape[k];
    }
    if (fits && is_in_c_order(tensor) && (tensor->data || n == 0)) {
        *at = (char *)tensor->data + tensor->byte_offset;
        return true;
    }
    return PyErr_Format(PyExc_RuntimeError,
                        "the array's library made another that is not what it was asked for");
}

/* ---- owning ---- */

#define HOLDER "gred.tensor"

/* Deleters are anybody's code, and run while an exception may be on its way. */
#define DEFINE_RELEASE(form)                                                                       \
    static void release_##form(PyObject *holder)                                                   \
    {                                                                                              \
        struct dl_##form *managed = PyCapsule_GetPointer(holder, HOLDER);                          \
        const struct raised under_way = raised_set_aside();                                        \
        if (managed->deleter)                                                                      \
            managed->deleter(managed);                                                             \
        raised_again(under_way);                                                                   \
    }

DEFINE_RELEASE(managed)
DEFINE_RELEASE(versioned)

static const PyCapsule_Destructor releases[DLTENSOR_FORMS] = {
    [DLTENSOR_VERSIONED] = release_versioned,
    [DLTENSOR_UNVERSIONED] = release_managed,
};

/* Capsules have no null pointers; without a destructor this one is never followed. */
PyObject *dltensor_holder(void)
{
    static char nothing;
    return PyCapsule_New(&nothing, HOLDER, NULL);
}

void dltensor_hold(PyObject *holder, void *tensor, enum dltensor_form form)
{
    PyCapsule_SetPointer(holder, tensor);
    PyCapsule_SetDestructor(holder, releases[form]);
}

void *dltensor_held(PyObject *holder)
{
    return PyCapsule_GetPointer(holder, HOLDER);
}
