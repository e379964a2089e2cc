/* Where an address lies, as the driver knows it, in any thread and for any GPU's memory: whether a
 * GPU can read it, and how far the memory around it goes. */
#pragma once

#include "arrays/array.h"

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
