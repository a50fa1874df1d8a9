/* Sizes of what an operator of PyTorch has its kernels do. */
#ifndef MS_KINETO_SHAPES_H
#define MS_KINETO_SHAPES_H

#include "study/kineto/events.h"

enum { MS_KINETO_SHAPE = 96 };

/* A matrix product or an attention. */
typedef struct ms_kineto_work {
    const char *kernel;          /* gemm, attention, attention_backward */
    char shape[MS_KINETO_SHAPE]; /* "MxNxK", or the operator's name where it has no sizes */
    char type[MS_KINETO_WORD];
    const char *why; /* why no table of measured kernels takes it; NULL: it does */
} ms_kineto_work;

/* What an operator does.  Returns false for one that is none of these, *work_out untouched. */
bool ms_kineto_work_of(const ms_kineto_event *operator, ms_kineto_work * work_out);

#endif
