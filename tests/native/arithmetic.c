/* Sets the MXCSR register (rounding mode, handling of subnormals) and returns its old value. */
#include <xmmintrin.h>

unsigned arithmetic(unsigned mode)
{
    const unsigned before = _mm_getcsr();
    _mm_setcsr(mode);
    return before;
}
