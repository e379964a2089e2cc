/* The schedule of a plan for an array that is not there, on a device that is not, so that tests can
 * go through every method, layout and length. */
#include "testing/fields.h"
#include "testing/functions.h"

#include <string.h>

/* A plan for an array that is not there, on a device that is not. The kernels are the simulated
 * device's, and a library is pretended. */
struct pretence {
    const char *reduction, *method, *input, *accumulator;
    const char *layout; /* of one dimension: 'flat', 'strided' or 'masked' */
    uint64_t n;
    struct facts facts;
    unsigned block_size;
    unsigned resident, resident_again; /* blocks of the first kernel, and of others */
    bool direct, on_device, mask_on_device, out, exact, initial;
    bool automatic; /* a device's own choice may take the method's place */
    bool compiled;  /* there are kernels for the device */
};

/* clang-format off */
static const struct field pretence_fields[] = {
    FIELD(pretence, reduction), FIELD(pretence, method), FIELD(pretence, input),
    FIELD(pretence, accumulator), FIELD(pretence, layout), FIELD(pretence, n),
    FIELD_NAMED(pretence, facts.limit, "limit"), FIELD(pretence, block_size),
    FIELD_NAMED(pretence, facts.multiprocessors, "multiprocessors"), FIELD(pretence, resident),
    FIELD(pretence, resident_again), FIELD(pretence, direct), FIELD(pretence, on_device),
    FIELD(pretence, mask_on_device), FIELD(pretence, out),
    FIELD_NAMED(pretence, facts.whole, "whole"), FIELD(pretence, exact), FIELD(pretence, initial),
    FIELD(pretence, automatic), FIELD_NAMED(pretence, facts.capability, "capability"),
    FIELD(pretence, compiled), {0}};
/* clang-format on */

static int pretended_reduce(void *workspace, size_t *workspace_bytes, const void *data,
                            void *result, int64_t n, void *stream)
{
    (void)workspace, (void)workspace_bytes, (void)data, (void)result, (void)n, (void)stream;
    return 0;
}

static library_reduce *pretended_reducer(enum fold fold, enum element input,
                                         enum element accumulator)
{
    return hooks->fold_is_on_ladder(fold) && input == accumulator ? pretended_reduce : NULL;
}

static const void *no_kernel(struct kernel_key key)
{
    (void)key;
    return NULL;
}

static bool pretended_residence(void *device, const void *kernel, unsigned block,
                                size_t shared_bytes, unsigned *blocks)
{
    struct pretence *self = device;
    (void)kernel, (void)block, (void)shared_bytes;
    *blocks = self->resident;
    if (self->resident_again)
        self->resident = self->resident_again;
    return true;
}

static enum element element_named(const char *name)
{
    int element = 0;
    while (element < ELEMENTS && strcmp(hooks->element_name((enum element)element), name) != 0)
        element++;
    return (enum element)element;
}

/* One dimension: 'flat', 'strided' or 'masked'. */
static struct layout layout_of(const struct pretence *self)
{
    static const unsigned char somewhere[16];
    const bool strided = strcmp(self->layout, "strided") == 0,
               masked = strcmp(self->layout, "masked") == 0;
    const enum element input = element_named(self->input);
    return (struct layout){.data = somewhere,
                           .mask = masked ? somewhere : NULL,
                           .input = input,
                           .type = element_named(self->accumulator),
                           .dimensions = 1,
                           .shape = {self->n},
                           .strides = {(int64_t)hooks->element_size(input) * (strided ? 2 : 1)},
                           .mask_strides = {masked}};
}

static bool names_are_known(const struct pretence *self)
{
    enum reduction reduction;
    if (hooks->method_find(self->method) && hooks->reduction_find(self->reduction, &reduction) &&
        element_named(self->input) != ELEMENTS && element_named(self->accumulator) != ELEMENTS)
        return true;
    return PyErr_Format(PyExc_ValueError, "no such reduction, method or element type");
}

static struct plan plan_of(const struct pretence *self, const struct layout *layout)
{
    static _Alignas(union scalar) unsigned char out[sizeof(union scalar)];
    const struct method *method = hooks->method_find(self->method);
    enum reduction reduction;
    hooks->reduction_find(self->reduction, &reduction);
    return (struct plan){
        .method = method,
        .block = self->block_size ? self->block_size : method->block_size,
        .data_blocks = method->data_blocks,
        .automatic = self->automatic,
        .exact = self->exact,
        .reduction = reduction,
        .fold = hooks->reduction_row(reduction)->fold,
        .accumulator = layout->type,
        .counts = hooks->reduction_row(reduction)->counts,
        .layout = layout,
        .n = self->n,
        .flat = strcmp(self->layout, "flat") == 0,
        .direct = self->direct,
        .on_device = self->on_device,
        .mask_on_device = self->mask_on_device,
        .finish = {.result = layout->type, .has_initial = self->initial, .from_nothing = true},
        .out = self->out ? out : NULL,
        .out_element = layout->type};
}

static PyObject *schedule_of(struct pretence *self)
{
    if (!names_are_known(self))
        return NULL;
    struct kernels kernels = *hooks->kernels_simulated;
    kernels.reducer = pretended_reducer;
    if (!self->compiled)
        kernels.flat = no_kernel;
    const struct layout layout = layout_of(self);
    struct plan plan = plan_of(self, &layout);
    self->facts.kernels = &kernels;
    self->facts.resident = pretended_residence;
    self->facts.device = self;
    struct schedule schedule;
    struct failure failure = {0};
    hooks->fastest_choose(&self->facts, &plan);
    if (hooks->schedule_make(&plan, &self->facts, &schedule, &failure))
        return hooks->explain_schedule(&schedule);
    PyErr_SetString(failure.kind == FAILURE_VALUE ? PyExc_ValueError : PyExc_RuntimeError,
                    failure.text);
    return NULL;
}

PyObject *testing_schedule(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(arguments),
                           PyObject *names)
{
    struct pretence self = {.layout = "flat",
                            .facts = {.multiprocessors = 132, .limit = UINT64_MAX},
                            .resident = 2,
                            .direct = true,
                            .on_device = true,
                            .mask_on_device = true,
                            .compiled = true};
    return fields_read(pretence_fields, names, &self) ? schedule_of(&self) : NULL;
}
