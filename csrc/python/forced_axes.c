#include "python/forced_axes.h"

#include "plan/tuning.h"

#include <limits.h>

PyObject *forced_axes(PyObject *module, PyObject *arguments)
{
    enum { LEAST = 5, MOST = 10, MOST_SHARE = 16, MOST_STAGED = 32 << 10 };
    struct axes_tuning tuning = {.windows = 2, .across = 7, .typed = UINT_MAX};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "IIIIII|IIIIIII:forced_axes", &tuning.block, &tuning.threads,
                          &tuning.share, &tuning.blocks, &tuning.staged, &tuning.columns,
                          &tuning.windows, &tuning.large, &tuning.across, &tuning.typed,
                          &tuning.unsplit, &tuning.unsplit_block, &tuning.small))
        return NULL;
    if (!tuning.large)
        tuning.large = tuning.block;
    if (!tuning.unsplit_block)
        tuning.unsplit_block = tuning.block;
    if (tuning.block &&
        (tuning.block < LEAST || tuning.block > MOST || tuning.large < tuning.block ||
         tuning.large > MOST || tuning.unsplit_block < LEAST || tuning.unsplit > LONE_PACKS ||
         tuning.share > MOST_SHARE || tuning.windows > MOST_SHARE || tuning.staged > MOST_STAGED)) {
        PyErr_SetString(PyExc_ValueError, "a block is of 2^5 to 2^10 threads, a thread's share and "
                                          "a stretch of up to 2^16 windows, 32 KiB can be staged, "
                                          "and up to 4 loads' columns made alone");
        return NULL;
    }
    tuning.staging = tuning.small_block = tuning.block;
    tuning.small_large = tuning.large;
    axes_tuning_force(tuning);
    Py_RETURN_NONE;
}
