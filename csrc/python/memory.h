/* Memory as types of Python's: DeviceMemory, on a device, which gred has got for results, and
 * SimulatedMemory(nbytes), of the simulated device: a writable buffer with an `address` and
 * `nbytes`. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "plan/platform.h"

struct module_state;

extern PyType_Spec device_memory_spec, simulated_memory_spec;

/* New memory on a platform's device, and what there is to know of it. NULL with an exception set.
 */
PyObject *device_memory_new(struct module_state *, const struct platform *, int device,
                            size_t bytes, struct device_memory *);
