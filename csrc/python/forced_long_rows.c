#include "python/forced_long_rows.h"

#include "plan/tuning.h"

PyObject *forced_long_rows(PyObject *module, PyObject *arguments)
{
    enum { LEAST = 5, MOST = LONG_ROWS_BLOCK, MOST_PACKS = 16 };
    struct long_rows_tuning tuning = {.words = 0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "IIIIIIIIII|I:forced_long_rows", &tuning.elements,
                          &tuning.bytes, &tuning.block, &tuning.least, &tuning.threads,
                          &tuning.packs, &tuning.waves, &tuning.rounds, &tuning.stacked,
                          &tuning.few, &tuning.alone))
        return NULL;
    if (tuning.block &&
        (tuning.block < LEAST || tuning.block > MOST || tuning.least > tuning.block ||
         tuning.packs > MOST_PACKS || tuning.waves == 0 || tuning.rounds == 0)) {
        PyErr_SetString(PyExc_ValueError,
                        "a block of long rows is of 2^5 to 2^8 threads, a team no larger, a "
                        "thread's share up to 2^16 packs, and nothing else is 0");
        return NULL;
    }
    long_rows_tuning_force(tuning);
    Py_RETURN_NONE;
}
