/* Stands in for cuda.c where gred is built without nvcc: a backend with no devices. */
#include "backend.h"

static void *create(void)
{
    static char nothing;
    return &nothing;
}

static void destroy(void *state)
{
    (void)state;
}

static int count(struct failure *failure)
{
    failure_note(failure, FAILURE_RUNTIME, "gred was built without nvcc");
    return 0;
}

static bool describe(int index, struct device *device)
{
    (void)index;
    (void)device;
    return false;
}

static bool locate(const struct view *view, int *index, struct failure *failure)
{
    (void)view;
    (void)index;
    failure_note(failure, FAILURE_RUNTIME,
                 "a: the array offers __cuda_array_interface__, but gred was built without nvcc "
                 "and uses no GPU");
    return false;
}

static bool run(void *state, const struct plan *plan, struct run *run)
{
    (void)state;
    (void)plan;
    count(&run->failure);
    return false;
}

static bool read_memory(void *state, int index, size_t bytes, struct run *run)
{
    (void)state;
    (void)index;
    (void)bytes;
    count(&run->failure);
    return false;
}

const struct backend backend_cuda = {
    .name = "cuda",
    .place = METHOD_ON_CUDA,
    .create = create,
    .destroy = destroy,
    .count = count,
    .describe = describe,
    .locate = locate,
    .run = run,
    .read = read_memory,
};
