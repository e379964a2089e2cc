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

void counted_launch_free(struct counted_launch *self)
{
    free(self->tallies);
    free(self->recording.accesses);
}

void counting_free(struct counting *self)
{
    for (size_t k = 0; k < self->count; k++)
        counted_launch_free(&self->launches[k]);
    free(self->launches);
}
