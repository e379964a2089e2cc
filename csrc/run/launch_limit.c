/* The limit for every call, however short: how soon a kernel that does nothing is launched and
 * over.
 */
#include "common/process.h"
#include "run/passes.h"
#include "run/watch.h"

bool passes_launch(struct machine *machine, struct run *run)
{
    enum { SHAPE = 0, WARP = 32 };
    struct timing *timing = run->timing;
    void *nothing = NULL;
    uint64_t none = 0;
    void *arguments[] = {&nothing, &none, &nothing};
    const struct launch launch = {.kernel = machine->kernels->read(SHAPE),
                                  .arguments = arguments,
                                  .grid = 1,
                                  .block = WARP,
                                  .cluster = 1};
    double asked = clock_now();
    for (unsigned s = 0; s < timing->warmup + timing->samples; s++) {
        const double began = clock_now();
        if (watch_interrupted_lately(run, &asked) || !machine->launch(machine, &launch) ||
            !machine->wait(machine))
            return false;
        if (s >= timing->warmup)
            timing->seconds[s - timing->warmup] = clock_now() - began;
    }
    return true;
}
