/* Replaces the rest of this folder if gred is built without nvcc: a backend without devices. */
#include "run/backend.h"

#include <stdlib.h>

#define REMEDY "pip install 'gred[cuda13]', or build it where nvcc is available"

static void *create(void)
{
    return malloc(1);
}

static int count(void *state, struct failure *failure)
{
    (void)state;
    failure_record(failure, FAILURE_RUNTIME, "gred was built without CUDA; " REMEDY);
    return 0;
}

static bool note_absence(struct failure *failure)
{
    return failure_record(failure, FAILURE_RUNTIME,
                          "the array is on a GPU, but gred was built without CUDA; " REMEDY);
}

static enum located locate(void *state, struct view *view, struct failure *failure)
{
    (void)state, (void)view;
    note_absence(failure);
    return LOCATED_ERROR;
}

static bool consumer_stream(void *state, int device, uintptr_t *stream, struct failure *failure)
{
    (void)state, (void)device, (void)stream;
    return note_absence(failure);
}

const struct backend backend_cuda = {
    .platform = {.name = "cuda",
                 .place = METHOD_ON_CUDA,
                 .numbered = true,
                 .automatic = METHOD_last_block,
                 .count = count,
                 .locate = locate,
                 .consumer_stream = consumer_stream},
    .uses_workspace = true,
    .create = create,
    .destroy = free,
};
