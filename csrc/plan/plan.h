/* A plan: all decisions and checks of a call, made before anything runs. */
#pragma once

#include "common/method.h"
#include "common/reduction.h"
#include "plan/axes.h"
#include "plan/platform.h"

/* Streams whose work comes first: those of arrays' producers and of the results' memory. Without a
 * consumer, the plan runs on the first one that is not `passing`. */
enum { PRODUCERS_MAX = 8 };

struct plan_streams {
    struct stream producers[PRODUCERS_MAX];
    unsigned count;
    struct stream consumer;
};

/* Adds a producer's stream if it is given and new and there is room. */
void plan_add_producer(struct plan_streams *, const struct stream *producer);

/* A caller's arguments, as Python objects (NULL: missing) or parsed. */
struct request {
    const struct platforms *platforms;
    enum reduction reduction;
    PyObject *method, *block_size, *dtype, *device, *initial;
    double ddof;
    const struct means *means;  /* what deviations are taken from; NULL: the elements' mean */
    const struct output *out;   /* NULL: the result becomes a scalar */
    const struct view *offsets; /* of segments, on any device; NULL: none */
    struct axes *axes;          /* to be filled in if there are several results; or NULL */
    uint64_t reduced;           /* reduction axes, a bit each */
    const unsigned *order; /* of the array's dimensions in the results' memory; NULL: C order */
    bool axes_given;       /* axis= or keepdims= was given, even without effect */
    bool mask_nonempty;    /* the mask is known to leave some elements */
    struct stream consumer;
    const struct plan_streams *list_streams; /* of a list's arrays; NULL: not a list */
    int frames;                              /* gred's own Python frames, which warnings skip */
};

/* Where results go: contiguous, separately for each value of a record. A single result on the host
 * goes to run->answer instead. */
struct results {
    void *at[ANSWER_VALUES];
    enum element type, types[ANSWER_VALUES]; /* of the first value, and of each */
    unsigned values;                         /* per result */
    bool on_device; /* they stay on the plan's device, and the host does not wait */

    /* On a device: results are finally cast to this layout, and `at` is not used; or NULL. */
    const struct layout *out;

    /* On a device, if the host waits for the results: receives their findings; or NULL. */
    unsigned *findings;
};

/* Whether the host waits for the results and needs their findings. */
static inline bool results_are_synchronous(const struct results *self)
{
    return !self->on_device || self->findings;
}

/* A single result of one value that stays on the device. */
static inline struct results single_result(void *at, enum element type)
{
    return (struct results){
        .at = {at}, .type = type, .types = {type}, .values = 1, .on_device = true};
}

struct list_entry {
    const void *data; /* the first element */
    uint64_t n;
    enum element input;
    const struct layout *layout; /* normalized; NULL: flat */
};

/* Arrays of any shapes on one device, reduced as if they were one, or separately. */
struct array_list {
    const struct list_entry *at;
    uint64_t count;
    uint64_t fewest; /* elements of the smallest array */
    bool each;       /* one result per array */
    bool uniform;    /* all are flat, and of the plan's element type */
};

/* An array's layout, with elements converted to `type`. */
static inline void list_entry_layout(const struct list_entry *self, enum element type,
                                     struct layout *layout)
{
    if (self->layout)
        layout_copy(self->layout, layout);
    else
        layout_set_flat(layout, self->data, NULL, self->input, self->n);
    layout->type = type;
}

/* How a method's kernels are launched. */
struct plan_launch {
    unsigned block;       /* threads; 0: none applies */
    unsigned data_blocks; /* elements per thread, at least */
    bool automatic;       /* gred has chosen the method and the launch */

    /* A result's elements merge independently of addresses, the grid and other results. */
    bool batch_invariant;
};

struct plan_elements {
    bool flat;   /* contiguous, aligned and unmasked; see layout_is_flat */
    bool direct; /* see types_convert_directly */
    bool on_device, mask_on_device;
    uint64_t position; /* of the first element within a list; else 0 */

    /* Replaces the layout except for its type; with axes, one result per array. NULL: one array. */
    const struct array_list *list;
};

/* Segments of a one-dimensional layout; axes only gives the number of results. */
struct plan_segments {
    const struct segments *of;    /* NULL: none */
    const struct layout *offsets; /* if not int64 on the host; or NULL */

    /* Instead of offsets: the index of each element's result, in any order; or NULL. */
    const struct layout *keys;
    bool drops; /* ignores elements with a key out of range; else reports them */

    /* Or quantiles of rows of equal length on a device; or NULL. */
    const struct kernel_select *quantiles;
};

/* Along axes, the layout is that of the first result. */
struct plan {
    const struct platform *platform;
    int device;
    const struct method *method; /* NULL: the backend's choice */
    struct plan_launch launch;
    bool exact; /* only the result is rounded, to finish.result */
    enum reduction reduction;
    enum fold fold;
    enum element accumulator;
    bool counts;                  /* included elements have to be counted */
    const struct layout *layout;  /* the view's, normalized */
    uint64_t n;                   /* its length, including masked elements */
    const struct layout *factors; /* multiplied with elements in the same order; or NULL */
    struct plan_elements elements;
    struct plan_streams streams;
    struct finish finish;
    const struct means *means; /* what deviations are taken from; NULL: the elements' mean */
    const struct axes *axes;   /* the other results and their elements; NULL: a single result */
    struct results results;
    struct plan_segments segments;
};

/* Whether products are added: with `factors` or, for an exact norm, squares. */
static inline bool plan_adds_products(const struct plan *plan)
{
    return plan->factors || (plan->exact && plan->fold == FOLD_norm2);
}

/* Whether devices have by-key kernels for it: for exact sums, counts and extremes. */
bool plan_has_key_kernels(const struct plan *);

/* The words of its exact sums, and how these are rounded. */
struct exact_span plan_exact_span(const struct plan *, enum element accumulator);
enum exact_rounding plan_exact_rounding(const struct plan *);

/* Whether a result is the state, possibly divided by the count, except for its type. */
static inline bool plan_stores_states(const struct plan *plan)
{
    return reduction_is_stored(plan->reduction) && !plan->finish.has_initial &&
           plan->finish.includes_identity;
}

/* Where a plan without axes leaves its result on the device; NULL: nowhere. */
static inline void *plan_device_result(const struct plan *plan)
{
    return !plan->axes && plan->results.on_device ? plan->results.at[0] : NULL;
}

/* Normalizes the view's layout. `mask` may be NULL. False with an exception set. */
bool plan_make(const struct request *request, struct view *view, const struct view *mask,
               struct plan *plan);

/* The plan of a sum of products of two arrays of one shape and element type, with layouts
 * normalized in order. Host plans have no launch. False with an exception set. */
bool products_plan(const struct request *, struct view *a, struct view *b, bool exactly,
                   struct plan *);

/* The same on a given device. */
void products_plan_on(const struct platform *, int device, struct view *a, struct view *b,
                      bool exactly, struct plan *);

/* The type of sums, also of products: integers widen to 64 bits, floats stay. */
enum element sum_type(enum element);

/* Whether the plan's grids can be launched. */
bool plan_fits(const struct plan *, struct failure *);

/* ---- choosing a device ---- */

/* Arrays on a device decide, then the caller, then the method, which goes to the best platform for
 * it. False with an exception set. */
bool plan_choose_device(const struct request *, struct view *, struct plan *);

/* ---- choosing types ---- */

/* A call with checked arguments, without Python objects. */
struct resolved_call {
    enum reduction reduction; /* possibly a variant */
    enum element elements;    /* the type that elements are converted to */
    enum element result;      /* the type that the result is rounded to */
    bool exact, batch_invariant;
    double ddof;
};

/* Chooses both types by NumPy's rules. False with an exception set. */
bool types_choose(const struct request *, const struct layout *, struct resolved_call *);

/* The plan of a resolved call for a located view, without mask, mean= or initial=, along the
 * `reduced` axes; if `axes` is NULL, of the whole array, with all bits set. */
void plan_from_resolved(const struct resolved_call *, struct view *, uint64_t reduced,
                        struct axes *axes, struct plan *);

/* Its parts: the launch; the fold and its types; exact results, rounded to the type of `out` unless
 * that is NULL; elements in normal form. */
void plan_choose_launch(struct plan *, bool automatic);
void plan_set_types(const struct resolved_call *, struct layout *, struct plan *);
void plan_make_exact(const struct output *out, struct layout *, struct plan *);
void plan_set_layout(struct layout *, uint64_t reduced, const unsigned *order, struct axes *,
                     struct plan *);

/* Makes it the plan of another array of n elements, without axes, flat or not. */
void plan_retarget(struct plan *, const struct layout *, uint64_t n, bool flat);

/* Whether all results are 0: positions in sets of one element. They are contiguous in memory. */
bool plan_results_are_zero(const struct plan *);

/* Whether a cast loses NaN: to an integer, or with an imaginary part that is dropped. */
bool types_lose_nan(enum element from, enum element to);

/* Whether C's conversion from the elements to the accumulator is enough. */
bool types_convert_directly(const struct layout *, enum element accumulator);

/* The widest type of a kind. Devices copy elements to it and accumulate copies in it, rather than
 * in the plan's accumulator, so that there are few kernels: results are rounded once, and integers
 * wrap at the end. Rows are accumulated in it or, for speed, in float32. */
static inline enum element widest_accumulator(enum element type)
{
    return element_is_complex(type)    ? ELEMENT_COMPLEX128
           : !element_is_integer(type) ? ELEMENT_FLOAT64
           : type == ELEMENT_UINT64    ? ELEMENT_UINT64
                                       : ELEMENT_INT64;
}

static inline enum element accumulator_of_rows(enum element accumulator)
{
    return accumulator == ELEMENT_FLOAT32 ? accumulator : widest_accumulator(accumulator);
}

/* A type that holds factors of exact products, and to which devices copy them without rounding,
 * except 64-bit integers with complex numbers (`type`). */
static inline enum element factor_type(enum element input, enum element type)
{
    if (element_is_complex(type))
        return ELEMENT_COMPLEX128;
    return input == ELEMENT_INT64 || input == ELEMENT_UINT64 ? input : ELEMENT_FLOAT64;
}

/* ---- cached plans for short calls ---- */

/* Plans, by reduction and element type, of calls with a flat host array and no other argument, in
 * memory of PyMem_Malloc. NULL with an exception set. */
struct cached_plans *cached_plans_make(const struct platforms *);

/* The plan for a flat, normalized, nonempty layout, whose conversion type it sets. False without an
 * exception if plan_make would raise one. */
bool cached_plan(const struct cached_plans *, enum reduction, struct layout *, struct plan *);
