/* The host: plain loops. */
#pragma once

#include "run/backend.h"

extern const struct backend backend_host;
