/* A plan: everything that a call has decided before anything runs. All checks end here; a plan that
 * was made can be run. */
#pragma once

#include "common/method.h"
#include "common/reduction.h"
#include "plan/platform.h"
#include "plan/request.h"

struct axes;
struct means;
struct segments;

/* Where results along axes go: one after the other in C order, a record's values apart. */
struct results {
    void *at[ANSWER_VALUES];
    enum element type, types[ANSWER_VALUES]; /* of the first value, and of each */
    unsigned values;                         /* of one result */
    bool on_device; /* they stay in the memory of the plan's device; nobody waits for them */

    /* There, too: where they go then, converted, and have no other memory yet. NULL: nowhere. */
    const struct layout *out;
};

/* The bytes of the widest value of a result. */
size_t results_widest(const struct results *);

/* Along axes it is the plan of the first result. */
struct plan {
    const struct platform *platform;
    int device;
    const struct method *method; /* NULL: the backend's own way */
    unsigned block;              /* threads; 0 where a block size has no meaning */
    unsigned data_blocks;        /* how many elements a thread should get at least */
    bool automatic;              /* the caller has left all that to gred */
    bool exact;                  /* nothing is rounded but the result, to finish.result */
    enum reduction reduction;
    enum fold fold;
    enum element accumulator;
    bool counts;                  /* how many elements took part has to be known */
    const struct layout *layout;  /* normalised; the view's */
    uint64_t n;                   /* its length, what a mask hides included */
    const struct layout *factors; /* what elements are multiplied with before they are added, walked
                                   * as they are; NULL: nothing */
    bool flat;                    /* the layout is a plain run of elements */
    bool direct;                  /* a plain conversion to the accumulator is all that is asked */
    bool on_device, mask_on_device;
    struct stream producers[5]; /* of the array, the mask, out, results that gred has the memory of,
                                   and given means: their work comes first */
    struct stream consumer;
    struct finish finish;
    void *out; /* device memory, for a result that stays there; else NULL */
    enum element out_element;
    const struct means *means; /* what spreads are about; NULL: each its own mean */
    const struct axes *axes;   /* where other results and their elements are; NULL: there is one */
    struct results results;
    const struct segments *segments; /* of the layout, which has one dimension: each has a result,
                                        and axes says only how many there are; or NULL */
    const struct layout *offsets; /* the segments', where they are not the host's int64; or NULL */
};

/* Whether what is added is products: by other elements, or, of an exact norm, by themselves. */
static inline bool plan_adds_products(const struct plan *plan)
{
    return plan->factors || (plan->exact && plan->fold == FOLD_norm2);
}

/* Whether nobody waits for the results. */
static inline bool plan_stays_on_device(const struct plan *plan)
{
    return plan->out || (plan->axes && plan->results.on_device);
}

/* False with an exception set. The view's layout is normalised on the way. `mask` may be NULL. */
bool plan_make(const struct request *request, struct view *view, const struct view *mask,
               struct plan *plan);

/* Whether a launch has a block for every tile; and whether the plan's grids can be launched at all,
 * which is the first thing that schedule_make looks at, for whoever wants to know before. */
bool plan_grid_grows(const struct plan *);
bool plan_fits(const struct plan *, struct failure *);
