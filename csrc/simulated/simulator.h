/* A GPU made of CPU cores: runs a grid of blocks, a block's threads as fibers that switch at
 * barriers and nowhere else, blocks in parallel on the cores. Between two barriers the threads may
 * run in any order, so the order is a parameter, and an answer that depends on it betrays a race.
 */
#pragma once

#include "simulated/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

struct simulator;
struct watch;

/* With so many multiprocessors, each a thread of the operating system while a launch needs it; NULL
 * when memory is short. A simulator keeps its fibers from run to run; one run uses it at a time. */
struct simulator *simulator_open(unsigned multiprocessors);
void simulator_close(struct simulator *);

unsigned simulator_multiprocessors(const struct simulator *);

/* For the launches that follow. The watch may be NULL: nobody is asked whether to stop. At first
 * the order is forwards, without a watch. */
void simulator_set(struct simulator *, enum thread_order order, uint64_t seed,
                   const struct watch *);

/* Returns when the whole grid has run. After anything but SIMULATOR_DONE the simulator is only good
 * for being closed, and for simulator_message, which tells what went wrong. */
enum simulator_status simulator_launch(struct simulator *, const struct simulator_launch *);
const char *simulator_message(const struct simulator *);

#ifdef __cplusplus
}
#endif
