#include "cuda/order.h"

#include "arrays/view.h"
#include "cuda/check.h"

enum { PRODUCERS = sizeof((struct plan *)0)->producers / sizeof(struct stream) };

/* Most streams of a plan are one: it is asked about once. */
bool cuda_order_check(const struct plan *plan, struct failure *failure)
{
    uintptr_t known = 0;
    for (int k = 0; k <= PRODUCERS; k++) {
        const struct stream *stream = k < PRODUCERS ? &plan->producers[k] : &plan->consumer;
        if (!stream->given || stream->handle == known)
            continue;
        if (!stream_is_readable(stream->handle)) {
            failure_note(failure, FAILURE_VALUE, "stream %#llx is no handle of a stream",
                         (unsigned long long)stream->handle);
            return false;
        }
        known = stream->handle;
    }
    return true;
}

cudaStream_t cuda_order_stream(const struct plan *plan)
{
    if (plan->consumer.given)
        return (cudaStream_t)plan->consumer.handle;
    for (int k = 0; k < PRODUCERS; k++)
        if (plan->producers[k].given && !plan->producers[k].passing)
            return (cudaStream_t)plan->producers[k].handle;
    return NULL;
}

/* The number of the capture that a stream is part of; 0: of none. Of the default stream nobody may
 * ask while others are being captured, since it would have to wait for them. */
static bool capture_of(cudaStream_t stream, unsigned long long *number, struct failure *failure)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    *number = 0;
    if (stream == NULL || stream == cudaStreamLegacy)
        return true;
    if (!CUDA_TRY(failure, cudaStreamGetCaptureInfo, stream, &status, number, NULL, NULL, NULL,
                  NULL))
        return false;
    stream_is_known((uintptr_t)stream);
    return true;
}

/* Whether all streams of a plan are part of one capture, or none of any; which is `*number`. */
static bool one_capture(cudaStream_t stream, const struct plan *plan, unsigned long long *number,
                        struct failure *failure)
{
    if (!capture_of(stream, number, failure))
        return false;
    for (int k = 0; k < PRODUCERS; k++) {
        const cudaStream_t producer = (cudaStream_t)plan->producers[k].handle;
        unsigned long long other;
        if (!plan->producers[k].given || producer == stream)
            continue;
        if (!capture_of(producer, &other, failure))
            return false;
        if (other != *number) {
            failure_note(failure, FAILURE_RUNTIME,
                         "one of the call's streams is being captured, and another is not: a graph "
                         "has no place for what comes first there");
            return false;
        }
    }
    return true;
}

bool cuda_order_capture(cudaStream_t stream, const struct plan *plan, const struct run *run,
                        bool *capturing, struct failure *failure)
{
    unsigned long long number;
    if (!one_capture(stream, plan, &number, failure))
        return false;
    *capturing = number != 0;
    if (!*capturing || (plan_stays_on_device(plan) && !run->timing))
        return true;
    failure_note(failure, FAILURE_RUNTIME,
                 "the stream is being captured, and a call that returns a number has to wait for "
                 "its work; give it an out= on the GPU");
    return false;
}

/* Work on `later` from now on waits for what is on `earlier` now. */
static bool put_behind(struct cuda_session *session, cudaStream_t earlier, cudaStream_t later,
                       struct failure *failure)
{
    return earlier == later || (CUDA_TRY(failure, cudaEventRecord, session->order, earlier) &&
                                CUDA_TRY(failure, cudaStreamWaitEvent, later, session->order, 0));
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
            ordered = CUDA_TRY(failure, cudaStreamSynchronize, session->stream);
        else if (producer->given)
            ordered = put_behind(session, session->stream, (cudaStream_t)producer->handle, failure);
    }
    return ordered;
}
