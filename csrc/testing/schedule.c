/* The schedule of a plan for an array that is not there, on a device that is not, so that tests can
 * go through every method, layout and length. */
#include "testing/testing.h"

#include <string.h>

/* The kernels are the simulated device's, and the library is a fake. */
struct scenario {
    const char *reduction, *method, *input, *accumulator;
    const char *layout; /* of one dimension: 'flat', 'strided' or 'masked' */
    unsigned long long n, limit;
    struct facts facts;
    unsigned block_size, resident, resident_again; /* blocks of the first kernel, and of others */
    int direct, on_device, mask_on_device, out, whole, exact, initial;
    int automatic; /* a device's own choice may take the method's place */
    int compiled;  /* there are kernels for the device */
};

static int fake_reduce(void *workspace, size_t *workspace_bytes, const void *data, void *result,
                       int64_t n, void *stream)
{
    (void)workspace, (void)workspace_bytes, (void)data, (void)result, (void)n, (void)stream;
    return 0;
}

static library_reduce *fake_reducer(enum fold fold, enum element input, enum element accumulator)
{
    return hooks->fold_is_on_ladder(fold) && input == accumulator ? fake_reduce : NULL;
}

static const void *no_kernel(struct kernel_key key)
{
    (void)key;
    return NULL;
}

static bool fake_residence(void *device, const void *kernel, unsigned block, size_t shared_bytes,
                           unsigned *blocks)
{
    struct scenario *self = device;
    (void)kernel, (void)block, (void)shared_bytes;
    *blocks = self->resident;
    if (self->resident_again)
        self->resident = self->resident_again;
    return true;
}

static struct layout layout_of(const struct scenario *self)
{
    static const unsigned char somewhere[16];
    const bool strided = strcmp(self->layout, "strided") == 0,
               masked = strcmp(self->layout, "masked") == 0;
    const enum element input = hooks->element_named(self->input);
    return (struct layout){.data = somewhere,
                           .mask = masked ? somewhere : NULL,
                           .input = input,
                           .type = hooks->element_named(self->accumulator),
                           .dimensions = 1,
                           .shape = {self->n},
                           .strides = {(int64_t)hooks->element_size(input) * (strided ? 2 : 1)},
                           .mask_strides = {masked}};
}

static struct plan plan_of(const struct scenario *self, const struct method *method,
                           enum reduction reduction, const struct layout *layout)
{
    static _Alignas(union scalar) unsigned char out[sizeof(union scalar)];
    return (struct plan){
        .method = method,
        .launch = {.block = self->block_size ? self->block_size : method->block_size,
                   .data_blocks = method->data_blocks,
                   .automatic = self->automatic},
        .exact = self->exact,
        .reduction = reduction,
        .fold = hooks->reduction_row(reduction)->fold,
        .accumulator = layout->type,
        .counts = hooks->reduction_row(reduction)->counts,
        .layout = layout,
        .n = self->n,
        .elements = {.flat = strcmp(self->layout, "flat") == 0,
                     .direct = self->direct,
                     .on_device = self->on_device,
                     .mask_on_device = self->mask_on_device},
        .finish = {.result = layout->type, .has_initial = self->initial, .from_nothing = true},
        .results = {.at = {out}, .type = layout->type, .on_device = self->out}};
}

static PyObject *schedule_of(struct scenario *self)
{
    const struct method *method = hooks->method_find(self->method);
    enum reduction reduction;
    if (!method || !hooks->reduction_find(self->reduction, &reduction) ||
        hooks->element_named(self->input) == ELEMENTS ||
        hooks->element_named(self->accumulator) == ELEMENTS)
        return value_error("no such reduction, method or element type");
    struct kernels kernels = *hooks->kernels_simulated;
    kernels.reducer = fake_reducer;
    if (!self->compiled)
        kernels.flat = no_kernel;
    self->facts.limit = self->limit;
    self->facts.whole = self->whole;
    self->facts.kernels = &kernels;
    self->facts.resident = fake_residence;
    self->facts.device = self;
    const struct layout layout = layout_of(self);
    struct plan plan = plan_of(self, method, reduction, &layout);
    struct schedule schedule;
    struct failure failure = {0};
    hooks->fastest_choose(&self->facts, &plan);
    if (hooks->schedule_make(&plan, &self->facts, &schedule, &failure))
        return hooks->explain_schedule(&schedule);
    PyErr_SetString(failure.kind == FAILURE_VALUE ? PyExc_ValueError : PyExc_RuntimeError,
                    failure.text);
    return NULL;
}

PyObject *testing_schedule(PyObject *Py_UNUSED(module), PyObject *arguments, PyObject *names)
{
    /* clang-format off */
    static char *keywords[] = {
        "reduction", "method", "input", "accumulator", "layout", "n", "limit", "block_size",
        "direct", "on_device", "out", "whole", "exact", "multiprocessors", "resident",
        "resident_again", "automatic", "initial", "capability", "compiled", "mask_on_device", NULL};
    /* clang-format on */
    struct scenario self = {.layout = "flat",
                            .facts = {.multiprocessors = 132},
                            .limit = UINT64_MAX,
                            .resident = 2,
                            .direct = true,
                            .on_device = true,
                            .mask_on_device = true,
                            .compiled = true};
    return PyArg_ParseTupleAndKeywords(
               arguments, names, "ssss|$sKKIpppppIIIppipp:schedule", keywords, &self.reduction,
               &self.method, &self.input, &self.accumulator, &self.layout, &self.n, &self.limit,
               &self.block_size, &self.direct, &self.on_device, &self.out, &self.whole, &self.exact,
               &self.facts.multiprocessors, &self.resident, &self.resident_again, &self.automatic,
               &self.initial, &self.facts.capability, &self.compiled, &self.mask_on_device)
               ? schedule_of(&self)
               : NULL;
}
