#define _GNU_SOURCE

#include "common/processor.h"

#include "common/arithmetic.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

unsigned processor_cores(void)
{
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) == 0)
        return (unsigned)CPU_COUNT(&cores);
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

uint64_t processor_memory(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t processor_last_level_cache(void)
{
    const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > 0 ? (uint64_t)bytes : 0;
}

void processor_title(char *title, size_t bytes)
{
    snprintf(title, bytes, "CPU");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file)
        return;
    char line[256];
    while (fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        snprintf(title, bytes, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    fclose(file);
}

/* ---- control groups ---- */

/* A process is limited by its group and all enclosing groups. Version 2 of the interface has one
 * hierarchy, version 1 one per controller. In a container the file system's root may be the
 * process's own group, while its path is the one seen from outside. So missing groups are ignored,
 * and the root is always read. */
enum { PATH_LENGTH = 512 };

/* Reads up to two numbers at the start of a file and returns how many there were. */
static int read_numbers(const char *group, const char *name, double *first, double *second)
{
    char path[PATH_LENGTH];
    if (snprintf(path, sizeof path, "%s/%s", group, name) >= (int)sizeof path)
        return 0;
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    const int read = fscanf(file, "%lf %lf", first, second);
    fclose(file);
    return read;
}

/* "max" and -1 mean no limit. */
static unsigned group_cores(const char *group)
{
    double quota, period, none;
    const bool limited = read_numbers(group, "cpu.max", &quota, &period) == 2 ||
                         (read_numbers(group, "cpu.cfs_quota_us", &quota, &none) == 1 &&
                          read_numbers(group, "cpu.cfs_period_us", &period, &none) == 1);
    if (!limited || !(quota > 0 && period > 0) || quota / period >= (double)UINT_MAX)
        return UINT_MAX;
    return quota < period ? 1 : (unsigned)(quota / period);
}

/* "0::/path" or, in version 1, a list of controllers: "4:cpu,cpuacct:/path". */
static unsigned line_cores(const char *root, char *line)
{
    char names[PATH_LENGTH], group[PATH_LENGTH];
    uint64_t cores = UINT_MAX;
    strsep(&line, ":");
    const char *const list = strsep(&line, ":");
    char *const path = strsep(&line, "\n");
    snprintf(names, sizeof names, ",%s,", list ? list : "");
    if (!path || (*list && !strstr(names, ",cpu,")))
        return UINT_MAX;
    for (char *end = path + strlen(path); end; end = strrchr(path, '/')) {
        *end = '\0';
        if (snprintf(group, sizeof group, "%s/sys/fs/cgroup%s%s", root, *list ? "/cpu" : "", path) <
            (int)sizeof group)
            cores = min_u64(cores, group_cores(group));
    }
    return (unsigned)cores;
}

unsigned cgroup_cores(const char *root)
{
    char line[PATH_LENGTH];
    if (snprintf(line, sizeof line, "%s/proc/self/cgroup", root) >= (int)sizeof line)
        return UINT_MAX;
    FILE *file = fopen(line, "r");
    uint64_t cores = UINT_MAX;
    while (file && fgets(line, sizeof line, file))
        cores = min_u64(cores, line_cores(root, line));
    if (file)
        fclose(file);
    return (unsigned)cores;
}

/* ---- the process ---- */

static _Atomic pid_t cached_id;

static void refresh_id(void)
{
    atomic_store_explicit(&cached_id, getpid(), memory_order_relaxed);
}

/* If the handler cannot be registered, the id is not cached. */
__attribute__((constructor)) static void register_fork_handler(void)
{
    if (pthread_atfork(NULL, NULL, refresh_id) == 0)
        refresh_id();
}

pid_t process_id(void)
{
    const pid_t known = atomic_load_explicit(&cached_id, memory_order_relaxed);
    return known ? known : getpid();
}

double clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* xorshift64* (Vigna 2016). */
void random_fill(void *memory, size_t bytes)
{
    uint64_t state = 0x9e3779b97f4a7c15;
    for (size_t at = 0; at < bytes; at += sizeof state) {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        const uint64_t word = state * 0x2545f4914f6cdd1d;
        memcpy((char *)memory + at, &word, bytes - at < sizeof word ? bytes - at : sizeof word);
    }
}

/* ---- instructions ---- */

static const char *const instruction_names[] = {
#define NAME(name) #name,
    INSTRUCTION_SETS(NAME)
#undef NAME
};

const char *instructions_name(enum instructions instructions)
{
    return instruction_names[instructions];
}

#ifdef __x86_64__

#include <cpuid.h>

/* Not all compilers know f16c by name. */
static enum instructions best_available(void)
{
    unsigned a, b, c, d;
    const bool f16c = __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
    if (!f16c || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return INSTRUCTIONS_baseline;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
               ? INSTRUCTIONS_avx512
               : INSTRUCTIONS_avx2;
}

#else

static enum instructions best_available(void)
{
    return INSTRUCTIONS_baseline;
}

#endif

/* The value of GRED_INSTRUCTIONS, or NULL, and the set that it names; INSTRUCTIONS if none. */
static const char *requested_set(int *set)
{
    const char *const name = getenv("GRED_INSTRUCTIONS");
    *set = 0;
    while (name && *set < INSTRUCTIONS && strcmp(name, instruction_names[*set]) != 0)
        ++*set;
    return name && *name ? name : NULL;
}

const char *instructions_invalid_name(void)
{
    int set;
    const char *const name = requested_set(&set);
    return name && set == INSTRUCTIONS ? name : NULL;
}

enum instructions instructions_available(void)
{
    int requested;
    const enum instructions best = best_available();
    return requested_set(&requested) && requested < (int)best ? (enum instructions)requested : best;
}
