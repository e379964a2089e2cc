#include "host/exact_along.h"

#include "host/exact.h"
#include "host/exact_answer.h"
#include "plan/axes.h"
#include "run/result.h"
#include "run/watch.h"

/* Adds the elements of one result, and stores it where the walk is. */
static bool add_result(struct job *job, const struct walk_of_results *walk)
{
    const struct results *results = &job->plan->results;
    char *const at = (char *)results->at[0] + walk->place * (int64_t)element_size(results->type);
    struct exact_sums sums;
    if (!exact_run(job, &sums) || !exact_finish(job, &sums))
        return false;
    run_store(job->run, job->plan, 0, at);
    return true;
}

bool exact_along(struct job *job)
{
    const struct axes *axes = job->plan->axes;
    struct layout layout = axes->reduced;
    struct plan one = *job->plan;
    struct job part = *job;
    struct walk_of_results walk;
    one.layout = &layout;
    part.plan = &one;
    results_start(&walk, axes, 0);
    for (uint64_t k = 0; k < axes->results; k++, results_next(&walk)) {
        results_move(&walk, &layout);
        if ((k && watch_interrupted_lately(job->run, &part.asked)) || !add_result(&part, &walk))
            return false;
    }
    return true;
}
