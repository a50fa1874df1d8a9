/* What is kept of a trace while it is read, and what of all traces together. */
#ifndef MS_KINETO_COLLECT_H
#define MS_KINETO_COLLECT_H

#include "meshsim/kineto.h"
#include "study/kineto/events.h"
#include "study/kineto/names.h"
#include "study/kineto/shapes.h"

/* Work of a GPU, one for each kernel, copy or setting of memory. */
typedef struct ms_kineto_record {
    int64_t start_ns, end_ns;
    int64_t launch; /* external id of its operator, then index of that in `launches`; NONE: none */
    int64_t correlation; /* of its launch; NONE: none */
    int32_t name;        /* number of its name */
    int32_t message;     /* number of what it says that it sends; NONE: nothing */
    int32_t stream, device;
} ms_kineto_record;

/* An operator on the host of which something is to be known. */
typedef struct ms_kineto_launch {
    int64_t id;      /* external id */
    int32_t shape;   /* number of what it computes; NONE: none */
    int32_t message; /* number of what it sends; NONE: nothing */
    int64_t time_ns; /* of its kernels, summed */
    int32_t kernels;
    bool is_beside; /* communication ran beside one of them */
} ms_kineto_launch;

/* Where such an operator ran. */
typedef struct ms_kineto_place {
    int64_t id; /* external id */
    int64_t thread, start_ns, end_ns;
} ms_kineto_place;

/* A call of CUDA that launched a kernel. */
typedef struct ms_kineto_call {
    int64_t correlation, thread, time_ns;
} ms_kineto_call;

/* A step by an annotation. */
typedef struct ms_kineto_mark {
    int64_t number, start_ns, end_ns;
    bool is_gpu;
} ms_kineto_mark;

/* Calls that make a row of a table. */
typedef struct ms_kineto_calls {
    int64_t count, total_ns, min_ns, max_ns;
} ms_kineto_calls;

/* Kernels of a name. */
enum { MS_KINETO_STREAMS = 8 };
typedef struct ms_kineto_name {
    ms_kineto_class class;
    ms_coll_kind coll; /* of communication */
    ms_kineto_calls calls;
    int32_t streams[MS_KINETO_STREAMS]; /* [stream_count] */
    int stream_count;                   /* MS_KINETO_STREAMS + 1: more than are kept */
} ms_kineto_name;

/* Messages of a collective, group and size. */
typedef struct ms_kineto_sent {
    int32_t message; /* NONE: only the kernel's name is known */
    ms_coll_kind coll;
    int32_t channel;
    ms_kineto_calls calls;
} ms_kineto_sent;

/* Communication of a kind in a group. */
typedef struct ms_kineto_flow {
    ms_coll_kind coll;
    const char *group;
    int64_t group_size;
    int64_t count;
    double busy_ns, exposed_ns;
} ms_kineto_flow;

/* Operators of one shape. */
typedef struct ms_kineto_sized {
    ms_kineto_work work;
    int64_t count, beside;      /* `beside`: of them, with communication beside */
    int64_t total_ns, alone_ns; /* of all; of those without */
} ms_kineto_sized;

/* Rows of all traces, each found by a text that says all of what makes it one. */
typedef struct ms_kineto_sums {
    ms_arena *arena;
    ms_diag *diag;
    ms_names names, message_keys, sent_keys, flow_keys, shape_keys;
    ms_vector name_rows; /* ms_kineto_name */
    ms_vector messages;  /* ms_kineto_message */
    ms_vector sent;      /* ms_kineto_sent */
    ms_vector flows;     /* ms_kineto_flow */
    ms_vector shapes;    /* ms_kineto_sized */
    ms_vector steps;     /* ms_kineto_step */
} ms_kineto_sums;

void ms_kineto_sums_init(ms_kineto_sums *sums, ms_arena *arena, ms_diag *diag);
void ms_kineto_sums_release(ms_kineto_sums *sums);
/* Whether memory ran out. */
bool ms_kineto_sums_failed(const ms_kineto_sums *sums);

/* A trace while it is read. */
typedef struct ms_kineto_file {
    ms_kineto_sums *sums;
    ms_vector records;  /* ms_kineto_record */
    ms_vector launches; /* ms_kineto_launch */
    ms_vector places;   /* ms_kineto_place */
    ms_vector calls;    /* ms_kineto_call */
    ms_vector marks;    /* ms_kineto_mark */
} ms_kineto_file;

void ms_kineto_file_init(ms_kineto_file *file, ms_kineto_sums *sums);
void ms_kineto_file_release(ms_kineto_file *file);

/* Keep of an event what is needed: the sink's function.  file: ms_kineto_file.  Returns false when
 * memory is out, not reported. */
bool ms_kineto_collect(void *file, const ms_kineto_event *event);

/* Lead from kernels to the operators that launched them, keep the work of one GPU, and add it to
 * the rows. A message that only the operator has is then the record's, too; its `message` is the
 * number of its row of `sent`.  *device_out: the GPU.  Returns MS_OK; MS_E_INPUT where there is no
 * GPU in the trace, reported; MS_E_NOMEM. */
ms_status ms_kineto_file_count(ms_kineto_file *file, const char *name, int32_t *device_out);

/* Part the time of a file into steps, and add them to the rows.
 * rank: set, and gets the counts of steps.  whole_steps: of a file without annotations.  Returns
 * MS_OK; MS_E_NOMEM. */
ms_status ms_kineto_file_sweep(ms_kineto_file *file, int64_t whole_steps, ms_kineto_rank *rank);

#endif
