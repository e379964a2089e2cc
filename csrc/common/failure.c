#include "common/failure.h"

#include <stdarg.h>
#include <stdio.h>

void failure_note(struct failure *failure, enum failure_kind kind, const char *format, ...)
{
    if (failure->kind != FAILURE_NONE)
        return;
    failure->kind = kind;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->text, sizeof failure->text, format, arguments);
    va_end(arguments);
}

void failure_note_cuda(struct failure *failure, const char *call, const char *name,
                       const char *text)
{
    if (failure->kind != FAILURE_NONE)
        return;
    failure->kind = FAILURE_CUDA;
    snprintf(failure->call, sizeof failure->call, "%s", call);
    snprintf(failure->name, sizeof failure->name, "%s", name);
    snprintf(failure->text, sizeof failure->text, "%s", text);
}
