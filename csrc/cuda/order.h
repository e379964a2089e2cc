/* The order of a run's work and what other streams do with the same memory. */
#pragma once

#include "cuda/session.h"

/* Whether the plan's streams can be handles of streams at all. */
bool cuda_order_check(const struct plan *, struct failure *);

/* The stream that a plan's work goes to: the caller's, or the first producer's that is known, after
 * whose work it then comes without any event. NULL: any. */
cudaStream_t cuda_order_stream(const struct plan *);

/* Whether that stream, or NULL, is being captured. False with a failure noted, and the capture as
 * it was, if the plan is nothing for a graph. */
bool cuda_order_capture(cudaStream_t, const struct plan *, const struct run *, bool *capturing,
                        struct failure *);

/* Producers' work comes before what is put on the session's stream from now on. */
bool cuda_order_before(struct cuda_session *, const struct plan *, struct failure *);

/* Where nobody waits, what producers do next, such as freeing or filling their memory again, comes
 * after what is under way here. */
bool cuda_order_after(struct cuda_session *, const struct plan *, struct failure *);
