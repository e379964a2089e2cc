/* A plan: all that a call has decided before anything runs, and all checks. */
#pragma once

#include "common/method.h"
#include "common/reduction.h"
#include "plan/axes.h"
#include "plan/platform.h"

/* Work that comes first is that of producers of arrays, and of memory for results; the first of
 * them that is no passing one has the work on its stream. */
enum { PRODUCERS_MAX = 8 };

struct plan_streams {
    struct stream producers[PRODUCERS_MAX];
    unsigned count;
    struct stream consumer;
};

/* If it is given, once, and there are not too many. */
void plan_wait_for(struct plan_streams *, const struct stream *producer);

/* What a caller asks for: arguments as Python gave them, NULL where one was left out, or read. */
struct request {
    const struct platforms *platforms;
    enum reduction reduction;
    PyObject *method, *block_size, *dtype, *device, *initial;
    double ddof;
    const struct means *means;  /* what spreads are about; NULL: each its own mean */
    const struct output *out;   /* NULL: the result becomes a scalar */
    const struct view *offsets; /* of segments, wherever they lie; NULL: there are none */
    struct axes *axes;          /* to be filled, where there are several results; or NULL */
    uint64_t reduced;           /* axes, a bit each */
    const unsigned *order;      /* of the array's dimensions, in which results lie; NULL: C's */
    bool along;                 /* axis= or keepdims= was given, whatever came of it */
    bool some_left;             /* by a mask whose elements have been looked at */
    struct stream consumer;
    const struct plan_streams *before; /* of a list's arrays; NULL: there is no list */
    int frames; /* Python frames of gred's own below the user's, which warnings pass over */
};

/* Where results go: one after the other, a record's values apart. A single one of the host's is the
 * run's answer instead. */
struct results {
    void *at[ANSWER_VALUES];
    enum element type, types[ANSWER_VALUES]; /* of the first value, and of each */
    unsigned values;                         /* of one result */
    bool on_device; /* they stay in the memory of the plan's device; nobody waits for them */

    /* There, too: where they go then, converted, and have no other memory yet. NULL: nowhere. */
    const struct layout *out;

    /* There, too, while results lie there for the host: what is to be said of them. NULL: nobody
     * asks. */
    unsigned *findings;
};

size_t results_widest(const struct results *); /* the bytes of a result's widest value */

/* Whether the host waits for them, and has to know what is to be said of them. */
static inline bool results_are_awaited(const struct results *self)
{
    return !self->on_device || self->findings;
}

/* One of them, of one value, which is to stay where it is. */
static inline struct results results_of_one(void *at, enum element type)
{
    return (struct results){
        .at = {at}, .type = type, .types = {type}, .values = 1, .on_device = true};
}

struct listed_array {
    const void *data; /* the first element */
    uint64_t n;
    enum element input;
    const struct layout *layout; /* normalised; NULL: it is flat */
};

/* Arrays in one place, of any shapes, reduced as if they were one, or each by itself. */
struct array_list {
    const struct listed_array *at;
    uint64_t count;
    uint64_t fewest; /* elements of the smallest array */
    bool each;       /* every array has a result */
    bool uniform;    /* all are flat, and of the plan's element type */
};

/* An array's elements, converted to `type`. */
static inline void listed_layout(const struct listed_array *self, enum element type,
                                 struct layout *layout)
{
    if (self->layout)
        layout_copy(self->layout, layout);
    else
        layout_lie_flat(layout, self->data, NULL, self->input, self->n);
    layout->type = type;
}

/* How a method's kernels are launched. */
struct plan_launch {
    unsigned block;       /* threads; 0 where a block size has no meaning */
    unsigned data_blocks; /* how many elements a thread should get at least */
    bool automatic;       /* the caller has left the method and all this to gred */

    /* No address, grid or number of results changes how a result's elements merge. */
    bool batch_invariant;
};

struct plan_elements {
    bool flat;   /* the layout is a plain run of elements */
    bool direct; /* a plain conversion to the accumulator is all that is asked */
    bool on_device, mask_on_device;
    uint64_t position; /* of the first, where it is not 0: in a list */

    /* In place of the layout, which tells the type; with axes, of a result each. NULL: one array.
     * */
    const struct array_list *list;
};

/* Of a layout of one dimension; axes says only how many there are. */
struct plan_segments {
    const struct segments *of;    /* NULL: there are none */
    const struct layout *offsets; /* where they are not the host's int64; or NULL */

    /* In place of offsets: each element's result, in no order; or NULL. */
    const struct layout *keys;
    bool drops; /* elements whose key is no result's; else that is said */

    /* Also: rows of one length, of which quantiles are results, on a device; or NULL. */
    const struct kernel_select *quantiles;
};

/* Along axes it is the plan of the first result. */
struct plan {
    const struct platform *platform;
    int device;
    const struct method *method; /* NULL: the backend's own way */
    struct plan_launch launch;
    bool exact; /* nothing is rounded but the result, to finish.result */
    enum reduction reduction;
    enum fold fold;
    enum element accumulator;
    bool counts;                  /* how many elements took part has to be known */
    const struct layout *layout;  /* normalised; the view's */
    uint64_t n;                   /* its length, what a mask hides included */
    const struct layout *factors; /* what elements are multiplied with before they are added, walked
                                   * as they are; NULL: nothing */
    struct plan_elements elements;
    struct plan_streams streams;
    struct finish finish;
    const struct means *means; /* what spreads are about; NULL: each its own mean */
    const struct axes *axes;   /* where other results and their elements are; NULL: there is one */
    struct results results;
    struct plan_segments segments;
};

/* Whether what is added is products: by other elements, or, of an exact norm, by themselves. */
static inline bool plan_adds_products(const struct plan *plan)
{
    return plan->factors || (plan->exact && plan->fold == FOLD_norm2);
}

/* Whether a device has kernels of keys for it: of exact sums, of counts and of extremes. */
bool plan_goes_by_key(const struct plan *);

/* Of the words that its exact sums are. */
struct exact_span plan_exact_span(const struct plan *, enum element accumulator);
enum exact_rounding plan_exact_rounding(const struct plan *);

/* Whether a result is the state, or that divided, but for its type. */
static inline bool plan_stores_states(const struct plan *plan)
{
    return reduction_is_stored(plan->reduction) && !plan->finish.has_initial &&
           plan->finish.from_nothing;
}

/* Where the single result of a plan without axes is to stay on its device; NULL: nowhere. */
static inline void *plan_out(const struct plan *plan)
{
    return !plan->axes && plan->results.on_device ? plan->results.at[0] : NULL;
}

/* False with an exception set. The view's layout is normalised on the way. `mask` may be NULL. */
bool plan_make(const struct request *request, struct view *view, const struct view *mask,
               struct plan *plan);

/* Of sums of products of two arrays of one shape, whose elements have a common type and layouts are
 * normalised, in order. On the host it says no more than that. False with an exception set. */
bool products_plan(const struct request *, struct view *a, struct view *b, bool exactly,
                   struct plan *);

/* The same where it is known where. */
void products_settle(const struct platform *, int device, struct view *a, struct view *b,
                     bool exactly, struct plan *);

/* What sums, also of products, of a type are: integers keep all their bits, floats stay what they
 * are. */
enum element types_of_sums(enum element);

/* Whether the plan's grids can be launched. */
bool plan_fits(const struct plan *, struct failure *);

/* ---- where ---- */

/* Where arrays are decides, unless the caller does; a rung without a device goes to the best that
 * runs rungs. False with an exception set. */
bool plan_choose_device(const struct request *, struct view *, struct plan *);

/* ---- in which types ---- */

/* What a call is, once its arguments are checked: nothing of Python's is left. */
struct settled {
    enum reduction reduction; /* a variant, where it turned out to be one */
    enum element elements;    /* what each is converted to */
    enum element result;      /* what the answer is rounded to */
    bool exact, batch_invariant;
    double ddof;
};

/* Both types, by NumPy's rules. False with an exception set. */
bool types_choose(const struct request *, const struct layout *, struct settled *);

/* The plan of that, without mask, mean= or initial=, of a view that has been located, along
 * `reduced`; of the whole array, all bits, where `axes` is NULL. */
void plan_of_settled(const struct settled *, struct view *, uint64_t reduced, struct axes *axes,
                     struct plan *);

/* Its parts: how kernels are launched, what is computed and in which types, results that are
 * rounded once, to `out` if it is not NULL, and elements in their best order. */
void plan_choose_launch(struct plan *, bool automatic);
void plan_settle(const struct settled *, struct layout *, struct plan *);
void plan_round_once(const struct output *out, struct layout *, struct plan *);
void plan_find_elements(struct layout *, uint64_t reduced, const unsigned *order, struct axes *,
                        struct plan *);

/* Makes it the plan of another array of n elements, without axes: flat, or of any layout. */
void plan_take(struct plan *, const struct layout *, uint64_t n, bool flat);

/* Whether all results are 0: positions of the best of one element each. They lie without gaps, in
 * memory's order from the first on. */
bool plan_makes_zeros(const struct plan *);

/* Whether NaN becomes a number that is none, or may be in the part that goes. */
bool types_lose_nan(enum element from, enum element to);

/* Whether C's conversion from the elements to the accumulator is all that is asked. */
bool types_convert_directly(const struct layout *, enum element accumulator);

/* What has all numbers of a type, and is the same for many: devices copy elements to it, and it
 * holds more than a plan's accumulator, so that kernels are few: results are rounded once, and
 * integers wrap in the end. Rows are folded in these, and in float32, which wants to be fast. */
static inline enum element accumulator_widest(enum element type)
{
    return element_is_complex(type)    ? ELEMENT_COMPLEX128
           : !element_is_integer(type) ? ELEMENT_FLOAT64
           : type == ELEMENT_UINT64    ? ELEMENT_UINT64
                                       : ELEMENT_INT64;
}

static inline enum element accumulator_of_rows(enum element accumulator)
{
    return accumulator == ELEMENT_FLOAT32 ? accumulator : accumulator_widest(accumulator);
}

/* A type that devices copy elements to without a rounding, but for 64-bit integers beside complex
 * numbers, which are of `type`; where they are multiplied exactly. */
static inline enum element holder_of_factor(enum element input, enum element type)
{
    if (element_is_complex(type))
        return ELEMENT_COMPLEX128;
    return input == ELEMENT_INT64 || input == ELEMENT_UINT64 ? input : ELEMENT_FLOAT64;
}

/* ---- short calls ---- */

/* For calls that give a flat array of the host's and nothing else: plans by reduction and element
 * type, in memory of PyMem_Malloc's. NULL with an exception set. */
struct cached_plans *cached_plans_make(const struct platforms *);

/* The plan for a layout that is flat and normalised and has elements; sets the type that they are
 * converted to. False without an exception: plan_make has something to say to such a call. */
bool cached_plan(const struct cached_plans *, enum reduction, struct layout *, struct plan *);
