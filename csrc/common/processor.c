#define _GNU_SOURCE

#include "common/processor.h"

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
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
        line[strcspn(line, "\n")] = '\0';
        snprintf(title, bytes, "%s", colon + 2);
        break;
    }
    fclose(file);
}

/* ---- control groups ---- */

/* A process may use what its group and every group around it allow. Version 2 of the interface has
 * one hierarchy ("0::/path" in /proc/self/cgroup), version 1 one for each controller
 * ("4:cpu,cpuacct:/path"). A container may see its own group as the root of the file system and
 * still read its path from outside: a group that is not found says nothing, and the root is asked
 * in any case. */
enum { PATH_LENGTH = 512 };

/* How many numbers a file begins with, up to two. */
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

/* "max" and -1 stand for no limit. */
static unsigned cores_of(const char *group)
{
    double quota, period, none;
    const bool limited = read_numbers(group, "cpu.max", &quota, &period) == 2 ||
                         (read_numbers(group, "cpu.cfs_quota_us", &quota, &none) == 1 &&
                          read_numbers(group, "cpu.cfs_period_us", &period, &none) == 1);
    if (!limited || !(quota > 0 && period > 0) || quota / period >= (double)UINT_MAX)
        return UINT_MAX;
    return quota < period ? 1 : (unsigned)(quota / period);
}

/* The smallest of a group and those around it, up to the first `base` characters; shortens `group`.
 */
static unsigned cores_up_to(char *group, size_t base)
{
    unsigned cores = UINT_MAX;
    for (;;) {
        const unsigned here = cores_of(group);
        cores = here < cores ? here : cores;
        char *slash = strrchr(group, '/');
        if (!slash || (size_t)(slash - group) < base)
            return cores;
        *slash = '\0';
    }
}

/* Whether a line's list of controllers, "cpu,cpuacct", has this one. */
static bool has_controller(const char *list, size_t length, const char *name)
{
    const size_t wanted = strlen(name);
    for (const char *end = list + length; list < end;) {
        const size_t here = strcspn(list, ",:");
        if (here == wanted && memcmp(list, name, wanted) == 0)
            return true;
        list += here + 1;
    }
    return false;
}

static unsigned cores_of_line(const char *root, const char *line)
{
    const char *controllers = strchr(line, ':');
    const char *path = controllers ? strchr(++controllers, ':') : NULL;
    if (!path)
        return UINT_MAX;
    const size_t length = (size_t)(path++ - controllers);
    if (length && !has_controller(controllers, length, "cpu"))
        return UINT_MAX;
    char group[PATH_LENGTH];
    const int base =
        snprintf(group, sizeof group, "%s/sys/fs/cgroup%s", root, length ? "/cpu" : "");
    if (base < 0 || (size_t)base >= sizeof group)
        return UINT_MAX;
    snprintf(group + base, sizeof group - (size_t)base, "%s", strcmp(path, "/") == 0 ? "" : path);
    return cores_up_to(group, (size_t)base);
}

unsigned cgroup_cores(const char *root)
{
    char line[PATH_LENGTH];
    if (snprintf(line, sizeof line, "%s/proc/self/cgroup", root) >= (int)sizeof line)
        return UINT_MAX;
    FILE *file = fopen(line, "r");
    if (!file)
        return UINT_MAX;
    unsigned cores = UINT_MAX;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        const unsigned here = cores_of_line(root, line);
        cores = here < cores ? here : cores;
    }
    fclose(file);
    return cores;
}
