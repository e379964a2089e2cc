/* How work is shared among threads, forced for tests. */
#include "testing/fields.h"
#include "testing/functions.h"

#include <string.h>

union tuning {
    struct shape shape;
    struct axes_tuning axes;
    struct long_rows_tuning long_rows;
    struct short_rows_tuning short_rows;
    struct segments_tuning segments;
};

static void force_shape(const union tuning *tuning)
{
    hooks->fastest_force(tuning->shape);
}

static void force_axes(const union tuning *tuning)
{
    hooks->axes_tuning_force(tuning->axes);
}

static void force_long_rows(const union tuning *tuning)
{
    hooks->long_rows_tuning_force(tuning->long_rows);
}

static void force_short_rows(const union tuning *tuning)
{
    hooks->short_rows_tuning_force(tuning->short_rows);
}

static void force_segments(const union tuning *tuning)
{
    hooks->segments_tuning_force(tuning->segments);
}

/* clang-format off */
static const struct family {
    const char *name;
    void (*force)(const union tuning *);
    struct field fields[20];
} families[] = {
    {"shape", force_shape, {FIELD(shape, block), FIELD(shape, data_blocks)}},
    {"axes", force_axes, {
        FIELD(axes_tuning, block), FIELD(axes_tuning, large), FIELD(axes_tuning, threads),
        FIELD(axes_tuning, share), FIELD(axes_tuning, blocks), FIELD(axes_tuning, staging),
        FIELD(axes_tuning, staged), FIELD(axes_tuning, columns), FIELD(axes_tuning, windows),
        FIELD(axes_tuning, across), FIELD(axes_tuning, typed), FIELD_NAMED(axes_tuning, unsplit, "lone"),
        FIELD_NAMED(axes_tuning, unsplit_block, "alone"), FIELD(axes_tuning, small), FIELD(axes_tuning, small_block),
        FIELD(axes_tuning, small_large)}},
    {"long_rows", force_long_rows, {
        FIELD(long_rows_tuning, elements), FIELD(long_rows_tuning, bytes),
        FIELD(long_rows_tuning, block), FIELD(long_rows_tuning, least),
        FIELD(long_rows_tuning, threads), FIELD(long_rows_tuning, packs),
        FIELD(long_rows_tuning, alone), FIELD(long_rows_tuning, waves),
        FIELD(long_rows_tuning, rounds), FIELD(long_rows_tuning, stacked),
        FIELD(long_rows_tuning, few), FIELD(long_rows_tuning, words)}},
    {"short_rows", force_short_rows, {
        FIELD(short_rows_tuning, several), FIELD(short_rows_tuning, staging),
        FIELD(short_rows_tuning, staged), FIELD(short_rows_tuning, turns),
        FIELD(short_rows_tuning, threads), FIELD(short_rows_tuning, longest)}},
    {"segments", force_segments, {
        FIELD(segments_tuning, block), FIELD(segments_tuning, tiling),
        FIELD(segments_tuning, tile), FIELD(segments_tuning, share),
        FIELD(segments_tuning, rounds), FIELD(segments_tuning, blocks),
        FIELD(segments_tuning, few)}},
};
/* clang-format on */

/* force(family, fields): as measured again where they are all 0. */
PyObject *testing_force(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    const char *name;
    PyObject *fields;
    union tuning tuning;
    if (!PyArg_ParseTuple(arguments, "sO!:force", &name, &PyDict_Type, &fields))
        return NULL;
    for (size_t k = 0; k < sizeof families / sizeof *families; k++)
        if (strcmp(families[k].name, name) == 0) {
            memset(&tuning, 0, sizeof tuning);
            if (!fields_read(families[k].fields, fields, &tuning))
                return NULL;
            families[k].force(&tuning);
            Py_RETURN_NONE;
        }
    return PyErr_Format(PyExc_ValueError, "there is no %s to force", name);
}
