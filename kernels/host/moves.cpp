/* What gathers elements and converts them, compiled once for each set of instructions, as
 * vectors.cpp is. */
#include "moves.cuh"
#include "conversions.cuh"

namespace KERNELS
{
namespace
{

template <class Part, unsigned Parts, bool Turned>
constexpr move_tile *mover_of(bool masked)
{
    return masked ? move_shown<Part, Parts, Turned> : move_all<Part, Parts, Turned>;
}

move_tile *plain_mover(size_t size, bool masked)
{
    switch (size) {
    case 1:
        return mover_of<uint8_t, 1, false>(masked);
    case 2:
        return mover_of<uint16_t, 1, false>(masked);
    case 4:
        return mover_of<uint32_t, 1, false>(masked);
    case 8:
        return mover_of<uint64_t, 1, false>(masked);
    default:
        return mover_of<uint64_t, 2, false>(masked);
    }
}

move_tile *turning_mover(size_t size, size_t part, bool masked)
{
    switch (size) {
    case 2:
        return mover_of<uint16_t, 1, true>(masked);
    case 4:
        return mover_of<uint32_t, 1, true>(masked);
    case 8:
        return part == 4 ? mover_of<uint32_t, 2, true>(masked)
                         : mover_of<uint64_t, 1, true>(masked);
    default:
        return mover_of<uint64_t, 2, true>(masked);
    }
}

} // namespace
} // namespace KERNELS

using namespace KERNELS;

move_tile *MOVER(GRED_INSTRUCTIONS)(size_t size, size_t part, bool masked)
{
    return part == 1 ? plain_mover(size, masked) : turning_mover(size, part, masked);
}

convert_elements *CONVERTER(GRED_INSTRUCTIONS)(enum element input, enum element type)
{
    switch (input) {
#define FROM(IN, In, ACC, Acc)                                                                     \
    case ELEMENT_##IN:                                                                             \
        return converter_from<In>(type);
        OWN_ACCUMULATORS(FROM)
    default:
        return nullptr;
    }
}
