#define _GNU_SOURCE

#include "common/processor.h"

#include <sched.h>
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
