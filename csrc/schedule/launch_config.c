#include "schedule/launch_config.h"

#include "schedule/launch_problem.h"

static bool is_unread(const struct launch_problem *problem, struct launch_config *config)
{
    return launch_has(problem, KERNEL_UNSPLIT_COLUMNS) && problem->indexed &&
           elements_of_result(problem->axes) == 1 && launch_typed_columns(problem, config) &&
           config->column.unread;
}

void launch_config_choose(const struct launch_problem *problem, struct launch_config *config)
{
    if (is_unread(problem, config) ||
        (launch_has(problem, KERNEL_TYPED_SHORT_ROWS) && launch_short_rows(problem, config)) ||
        (launch_has(problem, KERNEL_TYPED_ROWS) && launch_long_rows(problem, config)) ||
        (launch_has(problem, KERNEL_TYPED_COLUMNS) && launch_typed_columns(problem, config)))
        return;
    launch_any_type(problem, config);
}

bool launch_is_typed(const struct launch_config *self)
{
    return self->kernel == KERNEL_TYPED_COLUMNS || self->kernel == KERNEL_UNSPLIT_COLUMNS ||
           self->kernel == KERNEL_TYPED_ROWS || self->kernel == KERNEL_TYPED_SHORT_ROWS;
}

enum kernel_access launch_access(const struct launch_config *self)
{
    const bool strided =
        self->kernel == KERNEL_TYPED_SHORT_ROWS ? self->row.unit > 0 : self->step > 1;
    return strided ? ACCESS_STRIDED : ACCESS_ALIGNED;
}

/* Where what splits have left is folded in two steps, one for each few and one for all. */
uint64_t launch_tickets(const struct launch_config *self)
{
    const uint64_t few = self->column.split_group;
    return few ? self->groups * (1 + divide_up(self->splits, few)) : self->groups;
}

const char *launch_name(const struct launch_config *self)
{
    switch (self->kernel) {
    case KERNEL_TYPED_SHORT_ROWS:
        return "short rows";
    case KERNEL_TYPED_ROWS:
        return "long rows";
    case KERNEL_UNSPLIT_COLUMNS:
        return "unsplit columns";
    case KERNEL_COLUMNS:
    case KERNEL_TYPED_COLUMNS:
        return "columns";
    case KERNEL_FEW:
        return "few elements each";
    case KERNEL_EXACT_ROWS:
        return "exact rows";
    case KERNEL_EXACT_COLUMNS:
        return "exact columns";
    default:
        return self->across ? "side by side" : "rows";
    }
}
