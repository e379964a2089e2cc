/* The Python type SimulatedMemory(nbytes): a writable buffer with an `address` and `nbytes`. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyType_Spec simulated_memory_spec;
