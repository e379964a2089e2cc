/* The extension module gred._jax: the reductions as handlers of XLA's foreign function interface,
 * for the host and GPUs. A handler turns buffers and attributes into a call of gred._core. */
#include <Python.h>

#include "python/foreign.h"

#include <string>
#include <string_view>

#include <xla/ffi/api/ffi.h>

namespace ffi = xla::ffi;

/* Attributes that gred/jax/primitive.py sets, which do not depend on the device. */
struct attributes {
    std::string_view reduction, input, elements, result;
    bool exact, batch_invariant;
    double ddof;
    int64_t axes;
};

XLA_FFI_REGISTER_STRUCT_ATTR_DECODING(attributes, ffi::StructMember<std::string_view>("reduction"),
                                      ffi::StructMember<std::string_view>("input"),
                                      ffi::StructMember<std::string_view>("elements"),
                                      ffi::StructMember<std::string_view>("result"),
                                      ffi::StructMember<bool>("exact"),
                                      ffi::StructMember<bool>("batch_invariant"),
                                      ffi::StructMember<double>("ddof"),
                                      ffi::StructMember<int64_t>("axes"));

namespace
{

/* Of gred._core, which is never released, as XLA may call at any time. */
const foreign *core;

/* Reduces one array, or computes the dot product of two of one size. */
ffi::Error reduce(const attributes &attrs, const ffi::RemainingArgs &arrays,
                  const ffi::AnyBuffer &results, bool on_device, void *stream)
{
    const auto array = arrays.get<ffi::AnyBuffer>(0);
    if (!array)
        return array.error();
    const std::string reduction(attrs.reduction), input(attrs.input), elements(attrs.elements),
        result(attrs.result);
    foreign_call call = {};
    if (arrays.size() > 1) {
        const auto factors = arrays.get<ffi::AnyBuffer>(1);
        if (!factors || factors->size_bytes() != array->size_bytes())
            return ffi::Error::InvalidArgument("gred: both arrays must have the same size");
        call.factors = factors->untyped_data();
    }
    call.reduction = reduction.c_str();
    call.input = input.c_str();
    call.elements = elements.c_str();
    call.result = result.c_str();
    call.exact = attrs.exact;
    call.batch_invariant = attrs.batch_invariant;
    call.ddof = attrs.ddof;
    call.data = array->untyped_data();
    call.dimensions = static_cast<unsigned>(array->dimensions().size());
    call.shape = array->dimensions().begin();
    call.axes = static_cast<uint64_t>(attrs.axes);
    call.results = results.untyped_data();
    call.data_bytes = array->size_bytes();
    call.results_bytes = results.size_bytes();
    call.on_device = on_device;
    call.stream = reinterpret_cast<uintptr_t>(stream);
    char why[512];
    if (core->reduce(core->state, &call, why, sizeof why))
        return ffi::Error::Success();
    return ffi::Error::Internal(std::string("gred: ") + why);
}

using results = ffi::Result<ffi::AnyBuffer>;

ffi::Error reduce_on_host(results output, ffi::RemainingArgs arrays, attributes attrs)
{
    return reduce(attrs, arrays, *output, false, nullptr);
}

ffi::Error reduce_on_gpu(void *stream, results output, ffi::RemainingArgs arrays, attributes attrs)
{
    return reduce(attrs, arrays, *output, true, stream);
}

XLA_FFI_DEFINE_HANDLER(host_handler, reduce_on_host,
                       ffi::Ffi::Bind().Ret<ffi::AnyBuffer>().RemainingArgs().Attrs<attributes>());

XLA_FFI_DEFINE_HANDLER(cuda_handler, reduce_on_gpu,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::PlatformStream<void *>>()
                           .Ret<ffi::AnyBuffer>()
                           .RemainingArgs()
                           .Attrs<attributes>());

/* ---- the module ---- */

PyObject *target(XLA_FFI_Handler *handler)
{
    return PyCapsule_New(reinterpret_cast<void *>(handler), nullptr, nullptr);
}

bool add(PyObject *module, const char *name, PyObject *object)
{
    const bool added = object && PyModule_AddObjectRef(module, name, object) == 0;
    Py_XDECREF(object);
    return added;
}

int setup(PyObject *module)
{
    PyObject *const owner = PyImport_ImportModule("gred._core");
    if (!owner)
        return -1;
    core = static_cast<const foreign *>(PyCapsule_Import(FOREIGN_NAME, 0));
    return core && add(module, "host", target(host_handler)) &&
                   add(module, "cuda", target(cuda_handler)) &&
                   add(module, "version",
                       Py_BuildValue("(ii)", XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR))
               ? 0
               : -1;
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void *>(setup)},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "gred._jax",
    "gred's targets for XLA.",
    0,
    nullptr,
    slots,
    nullptr,
    nullptr,
    nullptr,
};

} // namespace

PyMODINIT_FUNC PyInit__jax(void)
{
    return PyModuleDef_Init(&definition);
}
