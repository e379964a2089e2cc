/* The host's processor and its limits for this process; the process itself. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* CPU cores that this process may run on. */
unsigned processor_cores(void);

/* The CPU quota of this process's control group in whole cores, at least 1; UINT_MAX: no limit.
 * `root` prefixes the paths of the files that are read; "" in production. */
unsigned cgroup_cores(const char *root);

uint64_t processor_memory(void);
uint64_t processor_last_level_cache(void);

/* The vendor's name of the processor. */
void processor_title(char *title, size_t bytes);

/* ---- the process ---- */

/* The process id, without a system call each time; correct after fork. */
pid_t process_id(void);

/* Seconds of a monotonic clock. */
double clock_now(void);

/* Incompressible random data for measurements. */
void random_fill(void *memory, size_t bytes);

/* ---- instructions ---- */

/* Instruction sets of the host's loops, the smallest first. All give the same bits. */
#ifdef __x86_64__
#define INSTRUCTION_SETS(ENTRY) ENTRY(baseline) ENTRY(avx2) ENTRY(avx512)
#else
#define INSTRUCTION_SETS(ENTRY) ENTRY(baseline)
#endif

#define INSTRUCTIONS_ENUMERATOR(name) INSTRUCTIONS_##name,
enum instructions { INSTRUCTION_SETS(INSTRUCTIONS_ENUMERATOR) INSTRUCTIONS };
#undef INSTRUCTIONS_ENUMERATOR

/* The best instruction set available, or a smaller one if GRED_INSTRUCTIONS names it. */
enum instructions instructions_available(void);

/* The value of GRED_INSTRUCTIONS if it is not the name of an instruction set; else NULL. */
const char *instructions_invalid_name(void);

const char *instructions_name(enum instructions);
