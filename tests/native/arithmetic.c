/* How this thread's floats are rounded, and whether subnormal ones count. */
#include <xmmintrin.h>

unsigned arithmetic(unsigned mode)
{
    const unsigned before = _mm_getcsr();
    _mm_setcsr(mode);
    return before;
}
