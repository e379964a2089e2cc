/* The schedule of a plan for an array that is not there, on a device that is not, so that tests can
 * go through every method, layout and length. The kernels are the simulated device's, and a library
 * is pretended. */
#include "python/explain.h"

#include "plan/schedule.h"
#include "python/schedule_tuple.h"

#include <string.h>

struct pretence {
    const char *reduction, *method, *input, *accumulator, *layout;
    unsigned long long n, limit;
    unsigned block, multiprocessors;
    unsigned resident, resident_again; /* blocks of the first kernel, and of others */
    int direct, on_device, mask_on_device, out, whole, exact, initial;
    int automatic;            /* a device's own choice may take the method's place */
    int capability, compiled; /* of the GPU, 0: not a GPU; whether there are kernels for it */
};

static int pretended_reduce(void *workspace, size_t *workspace_bytes, const void *data,
                            void *result, int64_t n, void *stream)
{
    (void)workspace, (void)workspace_bytes, (void)data, (void)result, (void)n, (void)stream;
    return 0;
}

static library_reduce *pretended_reducer(enum fold fold, enum element input,
                                         enum element accumulator)
{
    return fold_is_on_ladder(fold) && input == accumulator ? pretended_reduce : NULL;
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
    while (element < ELEMENTS && strcmp(element_name((enum element)element), name) != 0)
        element++;
    return (enum element)element;
}

static enum reduction reduction_named(const char *name)
{
    int reduction = 0;
    while (reduction < REDUCTIONS &&
           strcmp(reduction_row((enum reduction)reduction)->name, name) != 0)
        reduction++;
    return (enum reduction)reduction;
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
                           .strides = {(int64_t)element_size(input) * (strided ? 2 : 1)},
                           .mask_strides = {masked}};
}

static bool names_are_known(const struct pretence *self)
{
    if (method_find(self->method) && reduction_named(self->reduction) != REDUCTIONS &&
        element_named(self->input) != ELEMENTS && element_named(self->accumulator) != ELEMENTS)
        return true;
    PyErr_SetString(PyExc_ValueError, "no such reduction, method or element type");
    return false;
}

static struct plan plan_of(const struct pretence *self, const struct layout *layout)
{
    static _Alignas(union scalar) unsigned char out[sizeof(union scalar)];
    const struct method *method = method_find(self->method);
    const enum reduction reduction = reduction_named(self->reduction);
    return (struct plan){
        .method = method,
        .block = self->block ? self->block : method->block_size,
        .data_blocks = method->data_blocks,
        .automatic = self->automatic,
        .exact = self->exact,
        .reduction = reduction,
        .fold = reduction_row(reduction)->fold,
        .accumulator = layout->type,
        .counts = reduction_row(reduction)->counts,
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
    struct kernels kernels = kernels_simulated;
    kernels.reducer = pretended_reducer;
    if (!self->compiled)
        kernels.flat = no_kernel;
    const struct layout layout = layout_of(self);
    struct plan plan = plan_of(self, &layout);
    const struct facts facts = {.kernels = &kernels,
                                .multiprocessors = self->multiprocessors,
                                .capability = self->capability,
                                .limit = self->limit,
                                .whole = self->whole,
                                .resident = pretended_residence,
                                .device = self};
    struct schedule schedule;
    struct failure failure = {0};
    fastest_choose(&facts, &plan);
    if (schedule_make(&plan, &facts, &schedule, &failure))
        return schedule_tuple(&schedule);
    PyErr_SetString(failure.kind == FAILURE_VALUE ? PyExc_ValueError : PyExc_RuntimeError,
                    failure.text);
    return NULL;
}

PyObject *explain_pretended(PyObject *Py_UNUSED(module), PyObject *arguments, PyObject *names)
{
    static char *keywords[] = {"reduction",   "method",
                               "n",           "input",
                               "accumulator", "layout",
                               "block_size",  "multiprocessors",
                               "resident",    "resident_again",
                               "limit",       "direct",
                               "on_device",   "mask_on_device",
                               "out",         "whole",
                               "capability",  "compiled",
                               "automatic",   "exact",
                               "initial",     NULL};
    struct pretence self = {.layout = "flat",
                            .multiprocessors = 132,
                            .resident = 2,
                            .limit = UINT64_MAX,
                            .direct = true,
                            .on_device = true,
                            .mask_on_device = true,
                            .compiled = true};
    if (!PyArg_ParseTupleAndKeywords(
            arguments, names, "ssKss|sIIIIKpppppipppp", keywords, &self.reduction, &self.method,
            &self.n, &self.input, &self.accumulator, &self.layout, &self.block,
            &self.multiprocessors, &self.resident, &self.resident_again, &self.limit, &self.direct,
            &self.on_device, &self.mask_on_device, &self.out, &self.whole, &self.capability,
            &self.compiled, &self.automatic, &self.exact, &self.initial))
        return NULL;
    return schedule_of(&self);
}
