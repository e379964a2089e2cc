#include "arrays/dlexport.h"

#include "arrays/dltensor.h"

#include <stdlib.h>
#include <string.h>

/* What a capsule points to: one of the two, of which the tensor has pointers to the rest. */
struct lent {
    union {
        struct dl_versioned versioned;
        struct dl_managed managed;
    };
    int64_t shape[DIMENSIONS_MAX], strides[DIMENSIONS_MAX];
    PyObject *owner;
    uintptr_t reader;
    void (*let_go)(PyObject *owner, uintptr_t reader);
};

bool dlexport_type(const char *name, struct dlexport *export)
{
    for (int element = 0; element < ELEMENTS; element++)
        if (strcmp(name, element_name((enum element)element)) == 0) {
            export->type = (enum element)element;
            return true;
        }
    PyErr_Format(PyExc_TypeError, "%s is no element type", name);
    return false;
}

/* What DLPack reserves for devices that it does not know: nobody else takes it. */
int dlexport_device_type(bool on_gpu)
{
    enum { DEVICE_CUDA = 2, DEVICE_EXTERNAL = 12 };
    return on_gpu ? DEVICE_CUDA : DEVICE_EXTERNAL;
}

/* ---- the end ---- */

/* Readers call this from any thread, with the GIL or without. After the interpreter's end there is
 * nothing to give back. */
static void end(struct lent *lent)
{
    if (Py_IsInitialized()) {
        const PyGILState_STATE had = PyGILState_Ensure();
        lent->let_go(lent->owner, lent->reader);
        Py_DECREF(lent->owner);
        PyGILState_Release(had);
    }
    free(lent);
}

static void end_versioned(struct dl_versioned *versioned)
{
    end((struct lent *)versioned);
}

static void end_managed(struct dl_managed *managed)
{
    end((struct lent *)managed);
}

/* Who takes the tensor renames the capsule. */
static void end_untaken(PyObject *capsule)
{
    static const char *const names[] = {"dltensor_versioned", "dltensor"};
    for (int k = 0; k < 2; k++)
        if (PyCapsule_IsValid(capsule, names[k]))
            end(PyCapsule_GetPointer(capsule, names[k]));
}

/* ---- the beginning ---- */

static void describe(const struct dlexport *export, struct lent *lent, struct dl_tensor *tensor)
{
    dltensor_describe(tensor, export->device, export->type);
    tensor->device_type = dlexport_device_type(export->on_gpu);
    tensor->data = export->data;
    tensor->dimensions = (int32_t)export->dimensions;
    tensor->shape = lent->shape;
    tensor->strides = lent->strides;
    int64_t stride = 1;
    for (unsigned k = export->dimensions; k-- > 0;) {
        lent->shape[k] = export->shape[k];
        lent->strides[k] = stride;
        stride *= export->shape[k];
    }
}

static const char *begin(const struct dlexport *export, struct lent *lent)
{
    if (export->versioned) {
        lent->versioned.major = DLTENSOR_MAJOR;
        lent->versioned.minor = 0;
        lent->versioned.deleter = end_versioned;
        describe(export, lent, &lent->versioned.tensor);
        return "dltensor_versioned";
    }
    lent->managed.deleter = end_managed;
    describe(export, lent, &lent->managed.tensor);
    return "dltensor";
}

PyObject *dlexport_capsule(const struct dlexport *export)
{
    struct lent *lent = calloc(1, sizeof *lent);
    if (!lent)
        return PyErr_NoMemory();
    PyObject *capsule = PyCapsule_New(lent, begin(export, lent), end_untaken);
    if (!capsule) {
        free(lent);
        return NULL;
    }
    lent->owner = Py_NewRef(export->owner);
    lent->reader = export->reader;
    lent->let_go = export->let_go;
    return capsule;
}
