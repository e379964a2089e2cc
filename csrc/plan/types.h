/* In which types a reduction works, by NumPy's rules. */
#pragma once

#include "plan/request.h"

struct types {
    enum element elements; /* what each is converted to */
    enum element result;   /* what the answer is rounded to */
};

/* False with an exception set. */
bool types_choose(const struct request *, const struct layout *, struct types *);

/* Whether NaN becomes a number that is none, or may be in the part that goes. */
bool types_lose_nan(enum element from, enum element to);

/* Whether C's conversion from the elements to the accumulator is all that is asked. */
bool types_convert_directly(const struct layout *, enum element accumulator);
