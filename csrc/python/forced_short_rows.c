#include "python/forced_short_rows.h"

#include "plan/tuning.h"

PyObject *forced_short_rows(PyObject *module, PyObject *arguments)
{
    enum { LEAST = 5, MOST = SHORT_ROWS_BLOCK, MOST_STAGED = 48000 };
    int turns;
    struct short_rows_tuning tuning = {.longest = MOST_STAGED};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "IIIpI:forced_short_rows", &tuning.several, &tuning.staging,
                          &tuning.staged, &turns, &tuning.threads))
        return NULL;
    if (tuning.staging && (tuning.staging < LEAST || tuning.staging > MOST ||
                           (tuning.several && tuning.several < LEAST) || tuning.several > MOST ||
                           tuning.staged > MOST_STAGED)) {
        PyErr_SetString(PyExc_ValueError,
                        "a block is of 2^5 to 2^8 threads, and 48000 bytes can be "
                        "staged");
        return NULL;
    }
    tuning.turns = turns;
    short_rows_tuning_force(tuning);
    Py_RETURN_NONE;
}
