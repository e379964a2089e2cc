#include <Python.h>

#include "plan/platform.h"

#include "common/failure.h"
#include "plan/arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct platform *platforms_on(const struct platforms *self, unsigned place)
{
    const struct platform *const *platform = self->all;
    while ((*platform)->place != place)
        platform++;
    return *platform;
}

void *platforms_state(const struct platforms *self, const struct platform *platform)
{
    int k = 0;
    while (self->all[k] != platform)
        k++;
    return self->states[k];
}

int platforms_count(const struct platforms *self, const struct platform *platform,
                    struct failure *why)
{
    return platform->count ? platform->count(platforms_state(self, platform), why) : 1;
}

PyObject *platform_name(const struct platform *platform, int device)
{
    return platform->numbered ? PyUnicode_FromFormat("%s:%d", platform->name, device)
                              : PyUnicode_FromString(platform->name);
}

/* ---- device= ---- */

#define DEVICES_ACCEPTED "None, 'host', 'simulated', 'cuda' or 'cuda:N'"

/* ":12" -> 12, "" -> 0; false for other text. */
static bool parse_index(const char *text, int *index)
{
    enum { DIGITS_MAX = 4 };
    *index = 0;
    if (*text == '\0')
        return true;
    const char *digits = text + 1;
    const size_t count = strspn(digits, "0123456789");
    if (*text != ':' || count == 0 || count > DIGITS_MAX || digits[count])
        return false;
    *index = atoi(digits);
    return true;
}

static const struct platform *platform_named(const struct platforms *self, const char *text,
                                             int *index)
{
    *index = 0;
    for (int k = 0; k < PLATFORMS; k++) {
        const struct platform *platform = self->all[k];
        const size_t length = strlen(platform->name);
        if (strncmp(text, platform->name, length) == 0 &&
            (platform->numbered ? parse_index(text + length, index) : text[length] == '\0'))
            return platform;
    }
    return NULL;
}

static bool check_index(const struct platforms *self, PyObject *device,
                        const struct platform *platform, int index)
{
    struct failure why = {0};
    const int count = platforms_count(self, platform, &why);
    if (count < 0)
        failure_raise(&why);
    else if (count == 0)
        PyErr_Format(PyExc_RuntimeError,
                     "device %.200R: no GPU is available (%s); 'host' and 'simulated' need none",
                     device, why.text);
    else if (index >= count)
        value_error("device %.200R: there are %d GPUs, 'cuda:0' to 'cuda:%d'", device, count,
                    count - 1);
    return index < count;
}

bool platforms_parse(const struct platforms *self, PyObject *device,
                     const struct platform **platform, int *index)
{
    if (!PyUnicode_Check(device))
        return wrong_type("device", DEVICES_ACCEPTED, device);
    const char *text = plain_text(device);
    *platform = text ? platform_named(self, text, index) : NULL;
    if (*platform)
        return check_index(self, device, *platform, *index);
    return value_error("device must be " DEVICES_ACCEPTED
                       "; got %.200R. gred.devices() lists the available devices",
                       device);
}

bool platforms_find_gpu(const struct platforms *self, bool *available)
{
    struct failure why = {0};
    const int count = platforms_count(self, platforms_on(self, METHOD_ON_CUDA), &why);
    *available = count > 0;
    return count >= 0 || failure_raise(&why);
}

bool platforms_choose(const struct platforms *self, PyObject *device, unsigned places,
                      const struct platform **platform, int *index)
{
    bool gpu = false;
    if (argument_given(device))
        return platforms_parse(self, device, platform, index);
    if (places != METHOD_ON_HOST && !platforms_find_gpu(self, &gpu))
        return false;
    *platform = platforms_on(self, places == METHOD_ON_HOST          ? METHOD_ON_HOST
                                   : gpu || places == METHOD_ON_CUDA ? METHOD_ON_CUDA
                                                                     : METHOD_ON_SIMULATED);
    *index = 0;
    return true;
}

/* ---- locating memory ---- */

bool platforms_locate(const struct platforms *self, struct view *view, struct failure *failure)
{
    enum located located = LOCATED_NOT_FOUND;
    for (int k = 0; k < PLATFORMS && located == LOCATED_NOT_FOUND; k++)
        if (self->all[k]->locate)
            located = self->all[k]->locate(self->states[k], view, failure);
    return located == LOCATED_FOUND;
}

static bool locate(const struct locator *locator, struct view *view, const char *name)
{
    const struct platforms *self = (const struct platforms *)locator;
    struct failure failure = {0}, named;
    bool gpu = true;
    if (view->platform || !view->on_device)
        return true;
    if (view->n == 0 && !platforms_find_gpu(self, &gpu))
        return false;
    if (!gpu) { /* empty arrays may be anywhere */
        view->platform = platforms_on(self, METHOD_ON_SIMULATED);
        return true;
    }
    if (platforms_locate(self, view, &failure))
        return true;
    named = failure;
    if (failure.kind == FAILURE_VALUE || failure.kind == FAILURE_RUNTIME) /* name the argument */
        snprintf(named.text, sizeof named.text, "%s: %.400s", name, failure.text);
    return failure_raise(&named);
}

static bool consumer_stream(const struct locator *locator, int device, uintptr_t *stream)
{
    const struct platforms *self = (const struct platforms *)locator;
    const struct platform *gpus = platforms_on(self, METHOD_ON_CUDA);
    struct failure failure = {0};
    return gpus->consumer_stream(platforms_state(self, gpus), device, stream, &failure) ||
           failure_raise(&failure);
}

void platforms_init_locator(struct platforms *self)
{
    self->locator = (struct locator){locate, consumer_stream};
}
