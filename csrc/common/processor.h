/* The processor that this process runs on, what it may use of that, and the process itself. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Cores that this process may use. */
unsigned processor_cores(void);

/* Whole cores' worth of time that the control group of this process lets it use, at least 1;
 * UINT_MAX: any. Files are looked for below `root`, "" for the system's own. */
unsigned cgroup_cores(const char *root);

/* Bytes. */
uint64_t processor_memory(void);
uint64_t processor_last_level_cache(void);

/* The maker's name for it. */
void processor_title(char *title, size_t bytes);

/* ---- the process ---- */

/* Its number, without asking the operating system every time; a forked child has another. */
pid_t process_here(void);

/* Seconds on a clock that only goes forward. */
double clock_now(void);

/* Data that no memory or compiler can guess, to measure with. */
void clock_random(void *memory, size_t bytes);

/* ---- instructions ---- */

/* Sets of instructions that the host's loops are compiled for, the smallest first: same bits. */
#ifdef __x86_64__
#define INSTRUCTION_SETS(ENTRY) ENTRY(baseline) ENTRY(avx2) ENTRY(avx512)
#else
#define INSTRUCTION_SETS(ENTRY) ENTRY(baseline)
#endif

#define INSTRUCTIONS_ENUMERATOR(name) INSTRUCTIONS_##name,
enum instructions { INSTRUCTION_SETS(INSTRUCTIONS_ENUMERATOR) INSTRUCTIONS };
#undef INSTRUCTIONS_ENUMERATOR

/* The best that this processor has, or what GRED_INSTRUCTIONS names in the environment. */
enum instructions instructions_here(void);

/* What GRED_INSTRUCTIONS is, if it names none of them; else NULL. */
const char *instructions_misnamed(void);

const char *instructions_name(enum instructions);
