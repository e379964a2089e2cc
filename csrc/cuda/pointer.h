/* Where an address lies, as the driver knows it, in any thread and for any GPU's memory: whether a
 * GPU can read it, and how far the memory around it goes. */
#pragma once

#include "arrays/view.h"
#include "common/failure.h"

#include <cuda.h>
#include <stdatomic.h>

/* The driver's own functions, which the runtime has no names for; looked up once. */
typedef CUresult cuda_ask_attributes(unsigned count, CUpointer_attribute *attributes,
                                     void **answers, CUdeviceptr address);
typedef CUresult cuda_ask_attribute(void *answer, CUpointer_attribute attribute,
                                    CUdeviceptr address);

struct cuda_pointers {
    _Atomic(cuda_ask_attributes *) ask_several;
    _Atomic(cuda_ask_attribute *) ask_one;
};

/* The GPU that a view which is not empty lies on, all of it; view->layout.data becomes the address
 * that it has there. False with a failure noted. */
bool cuda_pointer_locate(struct cuda_pointers *, struct view *view, struct failure *failure);

/* Whether so many bytes of the host's memory are page-locked, all of them in one range, so that a
 * GPU can copy them from where they lie. */
bool cuda_pointer_is_page_locked(struct cuda_pointers *, const void *first, uint64_t bytes);
