/* The host: plain loops. */
#pragma once

#include "host/job.h"
#include "run/backend.h"

extern const struct backend backend_host;

/* What work that is no plan's has to share, of the backend's state. */
struct job host_job(void *state);
