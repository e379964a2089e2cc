/* Which process this is, without asking the operating system every time. */
#pragma once

#include <sys/types.h>

/* This process's number; a forked child has another. */
pid_t process_here(void);
