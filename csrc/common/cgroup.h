/* What the control group of this process lets it use; containers are limited in this way. */
#pragma once

/* Whole cores' worth of time, at least 1; UINT_MAX where there is no limit. Files are looked for
 * below `root`, "" for the system's own. */
unsigned cgroup_cores(const char *root);
