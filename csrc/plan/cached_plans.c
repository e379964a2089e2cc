#include <Python.h>

#include "plan/plan.h"

/* Without a platform where there is no plan. */
struct cached_plans {
    struct plan plans[FIRST_VARIANT][ELEMENTS];
};

/* What is raised is raised again for each call that asks for it. */
static bool make_plan(const struct platforms *platforms, enum reduction reduction,
                      enum element element, struct plan *plan)
{
    static const union scalar elements[2];
    const struct request request = {.platforms = platforms, .reduction = reduction};
    struct view view = {.layout = {.data = elements,
                                   .input = element,
                                   .type = element,
                                   .dimensions = 1,
                                   .shape = {2},
                                   .strides = {(int64_t)element_size(element)}},
                        .n = 2};
    if (plan_make(&request, &view, NULL, plan))
        return true;
    plan->platform = NULL;
    if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError))
        return false;
    PyErr_Clear();
    return true;
}

struct cached_plans *cached_plans_make(const struct platforms *platforms)
{
    struct cached_plans *self = PyMem_Malloc(sizeof *self);
    bool made = self;
    for (int r = 0; made && r < FIRST_VARIANT; r++)
        for (int e = 0; made && e < ELEMENTS; e++)
            made = make_plan(platforms, (enum reduction)r, (enum element)e, &self->plans[r][e]);
    if (made)
        return self;
    if (!self)
        PyErr_NoMemory();
    cached_plans_free(self);
    return NULL;
}

void cached_plans_free(struct cached_plans *self)
{
    PyMem_Free(self);
}

bool cached_plan(const struct cached_plans *self, enum reduction reduction, struct layout *layout,
                 struct plan *plan)
{
    *plan = self->plans[reduction][layout->input];
    layout->type = plan->finish.type;
    plan->layout = layout;
    plan->n = plan->finish.count = layout_length(layout);
    return plan->platform;
}
