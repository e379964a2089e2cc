#include "run/counting.h"

#include <stdlib.h>

bool counting_add(struct counting *self, const struct counted_launch *launch)
{
    struct counted_launch *launches =
        realloc(self->launches, (self->count + 1) * sizeof *self->launches);
    if (!launches)
        return false;
    self->launches = launches;
    launches[self->count++] = *launch;
    return true;
}

void counting_free(struct counting *self)
{
    for (size_t k = 0; k < self->count; k++)
        free(self->launches[k].tallies);
    free(self->launches);
}
