#include "plan/plan.h"

#include "arrays/numpys.h"
#include "arrays/objects.h"
#include "arrays/operands.h"
#include "common/segments.h"
#include "plan/arguments.h"

static bool warn_imaginary_part_dropped(int frames)
{
    OWNED *category = numpy_exception("ComplexWarning");
    return category &&
           PyErr_WarnEx(category, "Casting complex values to real discards the imaginary part",
                        1 + frames) == 0;
}

/* A cast to bool depends on both parts. */
static bool drops_imaginary_part(enum element from, enum element to)
{
    return element_is_complex(from) && !element_is_complex(to) && to != ELEMENT_BOOL;
}

bool types_lose_nan(enum element from, enum element to)
{
    return !element_is_integer(from) && (element_is_integer(to) || drops_imaginary_part(from, to));
}

static enum element out_type(const struct request *request)
{
    return request->out->view.layout.input;
}

/* The type that NumPy reduces in by default. */
static enum element default_type(enum values values, enum element input)
{
    if (!element_is_integer(input) || values == VALUES_own)
        return input;
    return values == VALUES_floating ? ELEMENT_FLOAT64 : sum_type(input);
}

/* With an out, NumPy's ufuncs reduce in the type that the elements and out promote to. Means do,
 * too, except that those of integers use float64 and those of float16 use float32. */
static bool choose_elements(const struct request *request, enum element input, enum element *type)
{
    const struct reduction_row *row = reduction_row(request->reduction);
    const bool mean = row->values == VALUES_floating;
    if (argument_given(request->dtype))
        return numpy_element_of_dtype(request->dtype, "dtype", type);
    if (!request->out || row->result != RESULT_same || (mean && element_is_integer(input)))
        *type = default_type(row->values, input);
    else if (mean && input == ELEMENT_FLOAT16)
        *type = ELEMENT_FLOAT32;
    else
        return numpy_promote(input, out_type(request), type);
    return true;
}

/* A quotient is cast directly to out's type, a sum to the elements' type first. */
static enum element result_type(const struct request *request, enum element elements)
{
    const struct reduction_row *row = reduction_row(request->reduction);
    switch (row->result) {
    case RESULT_bool:
        return ELEMENT_BOOL;
    case RESULT_index:
    case RESULT_count:
        return ELEMENT_INT64;
    case RESULT_real:
        return request->out ? element_real_part(out_type(request)) : element_real_part(elements);
    default:
        return row->values == VALUES_floating && request->out ? out_type(request) : elements;
    }
}

/* NumPy's "same kind" casts never go back: bool, unsigned, signed, float, complex. */
static int cast_rank(enum element type)
{
    if (element_is_complex(type))
        return 4;
    if (!element_is_integer(type))
        return 3;
    return type == ELEMENT_BOOL ? 0 : type <= ELEMENT_INT64 ? 2 : 1;
}

/* Refuses types of out that NumPy refuses in these reductions only. */
static bool check_output(const struct request *request, enum element input)
{
    const struct reduction_row *row = reduction_row(request->reduction);
    const enum element out = out_type(request);
    const enum element from = request->reduction == REDUCTION_ptp ? input : ELEMENT_FLOAT64;
    const bool casts = request->reduction == REDUCTION_ptp ||
                       (request->reduction == REDUCTION_nanmean && !element_is_integer(input));
    if (casts && !argument_given(request->dtype) && cast_rank(out) < cast_rank(from))
        return type_error("out of %s of %s cannot be of %s: it would not be a same-kind cast",
                          row->called, element_name(input), element_name(out));
    if (row->result == RESULT_index && (!element_is_integer(out) || out == ELEMENT_UINT64))
        return type_error(
            "out of %s must be of integers that int64 holds, as positions are; it is of "
            "%s",
            row->called, element_name(out));
    return true;
}

static bool check_types(const struct request *request, enum element input, enum element elements)
{
    const struct reduction_row *row = reduction_row(request->reduction);
    const bool skips_nan = reduction_skips_nan(request->reduction);
    const char *wrong = NULL;
    if (row->fold == FOLD_extremes && row->result == RESULT_same && elements == ELEMENT_BOOL)
        wrong = "%s does not support bool: the difference of truth values is not defined";
    else if (row->values == VALUES_floating && !row->counts && element_is_integer(elements) &&
             (!skips_nan || row->result == RESULT_real))
        wrong = "dtype of %s must be a float or complex type; got %s";
    else if (row->result == RESULT_real && drops_imaginary_part(input, elements))
        wrong = "dtype of %s of complex numbers must be a complex type, since imaginary parts "
                "contribute; got %s. The result is real in any case";
    else if (skips_nan && !element_is_integer(input) && element_is_integer(elements))
        wrong = "dtype of %s of floats must be a float or complex type, since NaN has no value in "
                "%s; skip NaN with where=a == a and the reduction without 'nan' in its name";
    else if (skips_nan && drops_imaginary_part(input, elements))
        wrong = "dtype of %s of complex numbers must be a complex type, since NaN may be in the "
                "part that %s lacks; pass the array's real part";
    if (wrong)
        return type_error(wrong, row->called, element_name(elements));
    return !request->out || check_output(request, input);
}

/* Warns if imaginary parts are lost. Positions, counts, bools and magnitudes never have any. */
bool types_choose(const struct request *request, const struct layout *layout,
                  struct resolved_call *resolved)
{
    const enum element input = layout->input;
    enum element elements;
    if (!choose_elements(request, input, &elements) || !check_types(request, input, elements))
        return false;
    resolved->elements = elements;
    resolved->result = result_type(request, elements);
    const bool to_out = request->out && reduction_row(request->reduction)->result == RESULT_same;
    const bool loses = drops_imaginary_part(input, elements) ||
                       (to_out && drops_imaginary_part(elements, out_type(request)));
    return !loses || warn_imaginary_part_dropped(request->frames);
}

bool types_convert_directly(const struct layout *layout, enum element accumulator)
{
    const enum element input = layout->input, type = layout->type;
    if (input == type)
        return true;
    if (type != accumulator || element_is_complex(input) || element_is_complex(type))
        return false;
    return element_is_integer(input) || !element_is_integer(type);
}

/* ---- by key ---- */

/* Exact digits take the carries of at most 2^30 numbers, and a table's tags are 32-bit words. */
bool plan_has_key_kernels(const struct plan *plan)
{
    const uint64_t limit = (uint64_t)1 << 30;
    const enum element input = plan->layout->input;
    const bool mean = reduction_row(plan->reduction)->nothing == NOTHING_nan,
               wraps =
                   !mean && element_is_integer(input) && element_is_integer(plan->finish.result);
    const bool adds =
        (plan->fold == FOLD_sum || plan->fold == FOLD_nansum) && (plan->exact || wraps);
    return plan->n < limit && plan->segments.of->count < UINT32_MAX && !element_is_complex(input) &&
           (adds || plan->reduction == REDUCTION_count_nonzero ||
            (fold_is_extreme(plan->fold) && plan->layout->type == input));
}
