#include "cuda/order.h"

#include "arrays/stream_handle.h"
#include "cuda/check.h"

enum { PRODUCERS = sizeof((struct plan *)0)->producers / sizeof(struct stream) };

bool cuda_order_check(const struct plan *plan, struct failure *failure)
{
    for (int k = 0; k <= PRODUCERS; k++) {
        const struct stream *stream = k < PRODUCERS ? &plan->producers[k] : &plan->consumer;
        if (stream->given && !stream_is_readable(stream->handle)) {
            failure_note(failure, FAILURE_VALUE, "stream %#llx is no handle of a stream",
                         (unsigned long long)stream->handle);
            return false;
        }
    }
    return true;
}

/* Work on `later` from now on waits for what is on `earlier` now. */
static bool put_behind(struct cuda_session *session, cudaStream_t earlier, cudaStream_t later,
                       struct failure *failure)
{
    return earlier == later ||
           (cuda_check(failure, cudaEventRecord(session->order, earlier), "cudaEventRecord") &&
            cuda_check(failure, cudaStreamWaitEvent(later, session->order, 0),
                       "cudaStreamWaitEvent"));
}

bool cuda_order_before(struct cuda_session *session, const struct plan *plan,
                       struct failure *failure)
{
    for (int k = 0; k < PRODUCERS; k++)
        if (plan->producers[k].given &&
            !put_behind(session, (cudaStream_t)plan->producers[k].handle, session->stream, failure))
            return false;
    return true;
}

/* A producer whose own stream is not known has to be waited for. */
bool cuda_order_after(struct cuda_session *session, const struct plan *plan,
                      struct failure *failure)
{
    bool ordered = true;
    for (int k = 0; k < PRODUCERS && ordered; k++) {
        const struct stream *producer = &plan->producers[k];
        if (producer->passing)
            ordered = cuda_check(failure, cudaStreamSynchronize(session->stream),
                                 "cudaStreamSynchronize");
        else if (producer->given)
            ordered = put_behind(session, session->stream, (cudaStream_t)producer->handle, failure);
    }
    return ordered;
}
