#include "common/instructions.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char *instructions_name(enum instructions instructions)
{
#define NAME(name) #name,
    static const char *const names[] = {INSTRUCTION_SETS(NAME)};
#undef NAME
    return names[instructions];
}

#ifdef __x86_64__

#include <cpuid.h>

/* Not all compilers know it by its name. */
static bool has_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && has_f16c() && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

static enum instructions best_here(void)
{
    if (has_avx512())
        return INSTRUCTIONS_avx512;
    return has_avx2() ? INSTRUCTIONS_avx2 : INSTRUCTIONS_baseline;
}

#else

static enum instructions best_here(void)
{
    return INSTRUCTIONS_baseline;
}

#endif

static const char *asked(void)
{
    const char *const name = getenv("GRED_INSTRUCTIONS");
    return name && *name ? name : NULL;
}

/* INSTRUCTIONS: the name of none. */
static enum instructions named(const char *name)
{
    int set = 0;
    while (set < INSTRUCTIONS && strcmp(name, instructions_name((enum instructions)set)) != 0)
        set++;
    return (enum instructions)set;
}

const char *instructions_misnamed(void)
{
    const char *const name = asked();
    return name && named(name) == INSTRUCTIONS ? name : NULL;
}

enum instructions instructions_here(void)
{
    const char *const name = asked();
    const enum instructions best = best_here(), wanted = name ? named(name) : best;
    return wanted < best ? wanted : best;
}
