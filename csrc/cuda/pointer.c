/* Uses the driver's cuPointerGetAttribute(s), which need no context: threads that have not used
 * CUDA have none, and one GPU's context does not know another's memory. */
#include "cuda/pointer.h"

#include "cuda/gpus.h"

/* ---- the driver's functions ---- */

/* NULL, with a failure noted, if it is missing. */
static void *find_function(const char *name, struct failure *failure)
{
    enum { CUDA_12 = 12000 };
    void *function = NULL;
    enum cudaDriverEntryPointQueryResult found;
    if (CUDA_TRY(failure, cudaGetDriverEntryPointByVersion, name, &function, CUDA_12,
                 cudaEnableDefault, &found) &&
        !function)
        failure_record(failure, FAILURE_RUNTIME, "the driver does not provide %s", name);
    return function;
}

/* Two threads may both do this, with the same result. */
static bool find_functions(struct cuda_pointers *self, struct failure *failure)
{
    if (!self->get_many)
        self->get_many = (cuda_get_attributes *)find_function("cuPointerGetAttributes", failure);
    if (!self->get_one)
        self->get_one = (cuda_get_attribute *)find_function("cuPointerGetAttribute", failure);
    return self->get_many && self->get_one;
}

/* ---- attributes of an address ---- */

struct pointer_info {
    CUmemorytype type; /* 0: not known to CUDA */
    int device;        /* negative: not a specific GPU's */
    CUdeviceptr first; /* start of the address range, which may have gaps: see mapped_bytes */
    size_t bytes;
    CUdeviceptr mapping; /* the mapped memory in that range which contains the address */
    size_t mapping_bytes;
};

/* Driver and runtime errors have the same numbers. */
static bool query(struct cuda_pointers *self, CUdeviceptr address, struct pointer_info *info,
                  struct failure *failure)
{
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,       CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,  CU_POINTER_ATTRIBUTE_RANGE_SIZE,
        CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, CU_POINTER_ATTRIBUTE_MAPPING_SIZE,
    };
    *info = (struct pointer_info){.device = -1};
    void *answers[] = {&info->type,  &info->device,  &info->first,
                       &info->bytes, &info->mapping, &info->mapping_bytes};
    enum { COUNT = sizeof answers / sizeof *answers };
    const CUresult error = self->get_many(COUNT, attributes, answers, address);
    if (error != CUDA_ERROR_INVALID_VALUE && error != CUDA_ERROR_INVALID_CONTEXT)
        return cuda_check(failure, (cudaError_t)error, "cuPointerGetAttributes");
    *info = (struct pointer_info){.device = -1}; /* both: the address is not CUDA's */
    return true;
}

static uint64_t bytes_to_end(CUdeviceptr first, size_t bytes, CUdeviceptr address)
{
    return first <= address && address - first < bytes ? bytes - (address - first) : 0;
}

/* Returns `fallback` if the driver cannot tell. */
static bool query_flag(struct cuda_pointers *self, CUpointer_attribute attribute,
                       CUdeviceptr address, bool fallback)
{
    unsigned answer = 0;
    return self->get_one(&answer, attribute, address) == CUDA_SUCCESS ? answer != 0 : fallback;
}

/* Bytes of memory from an address on a GPU; 0: none. A range may have been reserved and then mapped
 * piecewise, with gaps that a kernel must not read. */
static uint64_t mapped_bytes(struct cuda_pointers *self, const struct pointer_info *info,
                             CUdeviceptr address)
{
    const uint64_t range = bytes_to_end(info->first, info->bytes, address);
    const uint64_t mapping = bytes_to_end(info->mapping, info->mapping_bytes, address);
    if (mapping)
        return mapping < range ? mapping : range;
    const bool whole = query_flag(self, CU_POINTER_ATTRIBUTE_IS_MANAGED, address, false) ||
                       query_flag(self, CU_POINTER_ATTRIBUTE_MAPPED, address, true);
    return whole ? range : 0;
}

/* The mapped extent of a GPU's own memory around the address; empty for other memory. */
static struct extent mapped_extent(const struct pointer_info *info)
{
    const CUdeviceptr end = info->first + info->bytes,
                      mapping_end = info->mapping + info->mapping_bytes,
                      first = info->first > info->mapping ? info->first : info->mapping,
                      last = end < mapping_end ? end : mapping_end;
    const bool is_device = info->type == CU_MEMORYTYPE_DEVICE && info->device >= 0 && first < last;
    return is_device ? (struct extent){first, last - first} : (struct extent){0, 0};
}

/* ---- arrays ---- */

/* Whether all `bytes` bytes from an address are memory; `info` describes the address. */
static bool is_allocated(struct cuda_pointers *self, const struct pointer_info *info,
                         CUdeviceptr address, uint64_t bytes)
{
    struct pointer_info current = *info;
    struct failure ignored = {0};
    for (;;) {
        const uint64_t piece = current.type == CU_MEMORYTYPE_HOST
                                   ? bytes_to_end(current.first, current.bytes, address)
                                   : mapped_bytes(self, &current, address);
        if (piece >= bytes)
            return true;
        address += piece;
        bytes -= piece;
        if (piece == 0 || !query(self, address, &current, &ignored) || current.type != info->type)
            return false;
    }
}

/* The driver may report a page-locked range by its GPU addresses if these differ from the host's.
 * Then the first and the last byte must be equally far apart in both. */
static bool is_page_locked(const struct pointer_info *info, const void *on_gpu, const char *data,
                           uint64_t bytes)
{
    if (info->type != CU_MEMORYTYPE_HOST ||
        bytes_to_end(info->first, info->bytes, (CUdeviceptr)data))
        return false;
    struct cudaPointerAttributes last;
    if (cudaPointerGetAttributes(&last, data + bytes - 1) != cudaSuccess) {
        cudaGetLastError();
        return false;
    }
    return last.type == cudaMemoryTypeHost &&
           (const char *)last.devicePointer - (const char *)on_gpu == (ptrdiff_t)(bytes - 1);
}

/* ---- views ---- */

/* The GPU address of page-locked memory, from the runtime: the driver only reports it for the
 * current GPU, so this creates a context in a thread that has not used CUDA. NULL, possibly with a
 * failure noted, if there is none. */
static const void *address_on_gpu(const void *first, struct failure *failure)
{
    struct cudaPointerAttributes attributes;
    int device;
    return CUDA_TRY(failure, cudaGetDevice, &device) && CUDA_TRY(failure, cudaSetDevice, device) &&
                   CUDA_TRY(failure, cudaPointerGetAttributes, &attributes, first)
               ? attributes.devicePointer
               : NULL;
}

bool cuda_pointer_locate(struct cuda_pointers *self, struct view *view, struct failure *failure)
{
    const struct extent extent = layout_extent(&view->layout);
    const void *first = (const void *)extent.first, *on_gpu = first;
    struct pointer_info info;
    if (!find_functions(self, failure) || !query(self, extent.first, &info, failure))
        return false;
    if (info.type == CU_MEMORYTYPE_HOST)
        on_gpu = address_on_gpu(first, failure);
    if (!info.type || !on_gpu)
        return failure_record(failure, FAILURE_VALUE,
                              "%p is not a pointer to memory that a GPU can read",
                              view->layout.data);
    if (!is_allocated(self, &info, extent.first, extent.bytes) &&
        !is_page_locked(&info, on_gpu, first, extent.bytes))
        return failure_record(failure, FAILURE_VALUE,
                              "the %llu bytes from %p on are not all allocated memory",
                              (unsigned long long)extent.bytes, first);
    view->layout.data = (const char *)on_gpu + ((uintptr_t)view->layout.data - extent.first);
    view->allocation = mapped_extent(&info);
    view->device = info.device;
    /* Managed and page-locked memory may belong to no GPU; the current one can access it. */
    return info.device >= 0 || CUDA_TRY(failure, cudaGetDevice, &view->device);
}

/* The driver reports managed memory as a GPU's, and pageable memory as unknown. */
bool cuda_pointer_is_page_locked(struct cuda_pointers *self, const void *first, uint64_t bytes)
{
    struct failure ignored = {0};
    struct pointer_info info;
    const CUdeviceptr address = (CUdeviceptr)first;
    return find_functions(self, &ignored) && query(self, address, &info, &ignored) &&
           info.type == CU_MEMORYTYPE_HOST &&
           bytes_to_end(info.first, info.bytes, address) >= bytes;
}
