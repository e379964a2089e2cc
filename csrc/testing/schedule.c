/* The schedule of a plan for a nonexistent array and device, so that tests can cover every method,
 * layout and length. */
#include "testing/testing.h"

#include <string.h>

/* The kernels are the simulated device's, and the library is a fake. */
struct scenario {
    struct plan plan;
    struct facts facts;
    unsigned resident, resident_again; /* blocks of the first kernel; of others, if not 0 */
    bool compiled;                     /* there are kernels for the device */
};

/* clang-format off */
#define NAMED(member, name) FIELD_NAMED(scenario, member, name)
static PyMemberDef scenario_fields[] = {
    NAMED(plan.n, "n"), NAMED(plan.exact, "exact"), NAMED(plan.launch.block, "block_size"),
    NAMED(plan.launch.automatic, "automatic"), /* the device may choose another method */
    NAMED(plan.elements.direct, "direct"), NAMED(plan.elements.on_device, "on_device"),
    NAMED(plan.elements.mask_on_device, "mask_on_device"), NAMED(plan.results.on_device, "out"),
    NAMED(plan.finish.has_initial, "initial"), NAMED(facts.limit, "limit"),
    NAMED(facts.whole, "whole"), NAMED(facts.multiprocessors, "multiprocessors"),
    NAMED(facts.capability, "capability"), NAMED(resident, "resident"),
    NAMED(resident_again, "resident_again"), NAMED(compiled, "compiled"), {0}};
/* clang-format on */

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

static bool fake_occupancy(void *device, const void *kernel, unsigned block, size_t shared_bytes,
                           unsigned *blocks)
{
    struct scenario *self = device;
    (void)kernel, (void)block, (void)shared_bytes;
    *blocks = self->resident;
    if (self->resident_again)
        self->resident = self->resident_again;
    return true;
}

/* A one-dimensional layout: 'flat', 'strided' or 'masked'. */
static struct layout layout_of(const char *kind, uint64_t n, enum element input, enum element type)
{
    static const unsigned char fake_data[16];
    const bool strided = strcmp(kind, "strided") == 0, masked = strcmp(kind, "masked") == 0;
    return (struct layout){.data = fake_data,
                           .mask = masked ? fake_data : NULL,
                           .input = input,
                           .type = type,
                           .dimensions = 1,
                           .shape = {n},
                           .strides = {(int64_t)hooks->element_size(input) * (strided ? 2 : 1)},
                           .mask_strides = {masked}};
}

static PyObject *schedule_of(struct scenario *self)
{
    struct kernels kernels = *hooks->kernels_simulated;
    struct schedule schedule;
    struct failure failure = {0};
    kernels.reducer = fake_reducer;
    if (!self->compiled)
        kernels.flat = no_kernel;
    self->facts.kernels = &kernels;
    hooks->fastest_choose(&self->facts, &self->plan);
    if (hooks->schedule_make(&self->plan, &self->facts, &schedule, &failure))
        return hooks->explain_schedule(&schedule);
    PyErr_SetString(failure.kind == FAILURE_VALUE ? PyExc_ValueError : PyExc_RuntimeError,
                    failure.text);
    return NULL;
}

PyObject *testing_schedule(PyObject *Py_UNUSED(module), PyObject *arguments, PyObject *fields)
{
    static _Alignas(union scalar) unsigned char out[sizeof(union scalar)];
    const char *reduction, *method, *input, *accumulator, *layout;
    if (!PyArg_ParseTuple(arguments, "sssss:schedule", &reduction, &method, &input, &accumulator,
                          &layout))
        return NULL;
    const enum element from = hooks->element_find(input), to = hooks->element_find(accumulator);
    struct scenario self = {.facts = {.limit = UINT64_MAX, .resident = fake_occupancy},
                            .compiled = true};
    struct plan *plan = &self.plan;
    plan->method = hooks->method_find(method);
    if (!plan->method || !hooks->reduction_find(reduction, &plan->reduction) || from == ELEMENTS ||
        to == ELEMENTS)
        return value_error("no such reduction, method or element type");
    plan->launch = (struct plan_launch){.block = plan->method->block_size,
                                        .data_blocks = plan->method->data_blocks};
    plan->fold = hooks->reduction_row(plan->reduction)->fold;
    plan->counts = hooks->reduction_row(plan->reduction)->counts;
    plan->accumulator = plan->finish.result = plan->results.type = to;
    plan->elements = (struct plan_elements){
        .flat = strcmp(layout, "flat") == 0, .on_device = true, .mask_on_device = true};
    plan->finish.includes_identity = true;
    plan->results.at[0] = out;
    self.facts.device = &self;
    if (fields && !fields_read(scenario_fields, fields, &self))
        return NULL;
    const struct layout array = layout_of(layout, plan->n, from, to);
    plan->layout = &array;
    return schedule_of(&self);
}
