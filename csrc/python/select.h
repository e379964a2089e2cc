/* What gred/statistics/quantiles.py asks for. */
#pragma once

#include "arrays/objects.h"
#include "common/quantile.h"

/* Of (shares, method, leaves_out, sorted), of which it borrows the shares; input and out are the
 * caller's to fill in. False with an exception set. */
bool quantiles_parse(PyObject *asked, struct quantiles *);
