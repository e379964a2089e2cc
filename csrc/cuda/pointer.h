/* Properties of addresses according to the driver, in any thread and for any GPU's memory: whether
 * a GPU can read them, and the extent of the allocation. */
#pragma once

#include "arrays/view.h"
#include "common/failure.h"

#include <cuda.h>
#include <stdatomic.h>

/* Driver functions without an equivalent in the runtime; looked up once. */
typedef CUresult cuda_get_attributes(unsigned count, CUpointer_attribute *attributes,
                                     void **answers, CUdeviceptr address);
typedef CUresult cuda_get_attribute(void *answer, CUpointer_attribute attribute,
                                    CUdeviceptr address);

struct cuda_pointers {
    _Atomic(cuda_get_attributes *) get_many;
    _Atomic(cuda_get_attribute *) get_one;
};

/* Finds the GPU that holds all of a nonempty view; view->layout.data becomes its address there.
 * False with a failure noted. */
bool cuda_pointer_locate(struct cuda_pointers *, struct view *view, struct failure *failure);

/* Whether `bytes` bytes of host memory are page-locked in a single range, so that a GPU can copy
 * from them directly. */
bool cuda_pointer_is_page_locked(struct cuda_pointers *, const void *first, uint64_t bytes);
