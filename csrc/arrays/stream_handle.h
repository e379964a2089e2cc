/* Handles of streams that somebody else gave. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* CUDA reads what a handle points to, and the process ends where that cannot be read; what can, but
 * is no stream, it recognises. This asks the operating system first. */
bool stream_is_readable(uintptr_t handle);

/* CUDA has taken it for a stream's: nobody is asked about it again. */
void stream_is_known(uintptr_t handle);
