/* Sets of instructions that the host's loops are compiled for, the smallest first; all make the
 * same bits. */
#pragma once

#ifdef __x86_64__
#define INSTRUCTION_SETS(ENTRY) ENTRY(baseline) ENTRY(avx2) ENTRY(avx512)
#else
#define INSTRUCTION_SETS(ENTRY) ENTRY(baseline)
#endif

#define INSTRUCTIONS_ENUMERATOR(name) INSTRUCTIONS_##name,
enum instructions { INSTRUCTION_SETS(INSTRUCTIONS_ENUMERATOR) INSTRUCTIONS };
#undef INSTRUCTIONS_ENUMERATOR

/* The best that this processor has; what GRED_INSTRUCTIONS names in the environment, if it has
 * that. */
enum instructions instructions_here(void);

/* What GRED_INSTRUCTIONS is, if it names none of them; else NULL. */
const char *instructions_misnamed(void);

const char *instructions_name(enum instructions);
