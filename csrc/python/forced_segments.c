#include "python/forced_segments.h"

#include "plan/segments_schedule.h"
#include "plan/tuning.h"

#include <limits.h>

PyObject *forced_segments(PyObject *module, PyObject *arguments)
{
    enum {
        LEAST = 5,
        MOST = 10,
        MOST_TILING = 8,
        MOST_SHARE = 16,
        TILE_LEAST = 64,
        TILE_MOST = 32 << 10
    };
    struct segments_tuning tuning;
    unsigned long long few;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "IIIIIIK:forced_segments", &tuning.block, &tuning.tiling,
                          &tuning.tile, &tuning.share, &tuning.rounds, &tuning.blocks, &few))
        return NULL;
    tuning.few = few < UINT_MAX ? (unsigned)few : UINT_MAX;
    if (tuning.block &&
        (tuning.block < LEAST || tuning.block > MOST || tuning.tiling < LEAST ||
         tuning.tiling > MOST_TILING || tuning.tile < TILE_LEAST || tuning.tile > TILE_MOST ||
         tuning.share > MOST_SHARE || tuning.rounds < 1 || tuning.rounds > 1 << MOST_SHARE ||
         tuning.blocks < 1)) {
        PyErr_SetString(PyExc_ValueError,
                        "a block is of 2^5 to 2^10 threads, of tiles up to 2^8, "
                        "a tile of 64 bytes to 32 KiB, and a share of up to 2^16");
        return NULL;
    }
    segments_tuning_force(tuning);
    Py_RETURN_NONE;
}

PyObject *pretended_segments(PyObject *module, PyObject *arguments)
{
    unsigned long long segments, elements;
    unsigned size, state, multiprocessors;
    int own;
    struct segments_shape shape;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "KKIIpI:pretended_segments", &segments, &elements, &size,
                          &state, &own, &multiprocessors))
        return NULL;
    segments_shape_make(segments, elements, size, state, own, multiprocessors, &shape);
    return Py_BuildValue("IIIIIKKnn", shape.block, shape.tile_block, shape.team, shape.alone,
                         shape.tile, (unsigned long long)shape.tiles,
                         (unsigned long long)shape.grid, (Py_ssize_t)shape.shared_bytes,
                         (Py_ssize_t)shape.tile_shared_bytes);
}
