/* Events of a trace of PyTorch's profiler, one after the other. Source of all names: what Kineto
 * writes, libkineto/src/output_json.cpp. */
#ifndef MS_KINETO_EVENTS_H
#define MS_KINETO_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "meshsim/buffer.h"
#include "study/kineto/stream.h"

enum {
    MS_KINETO_WORD = 48,   /* letters of a short text that are kept, the end included */
    MS_KINETO_INPUTS = 16, /* inputs of an operator that are kept */
    MS_KINETO_RANK = 4,    /* sizes of an input that are kept */
    MS_KINETO_NONE = -1,   /* in the place of a number that an event does not have */
};

/* Category of an event, `cat`. */
typedef enum ms_kineto_category {
    MS_KINETO_IGNORED, /* flows, Python functions, overhead of the profiler and so on */
    MS_KINETO_KERNEL,
    MS_KINETO_MEMCPY,
    MS_KINETO_MEMSET,
    MS_KINETO_RUNTIME,        /* a call of CUDA's runtime or driver */
    MS_KINETO_OPERATOR,       /* of PyTorch, on the host */
    MS_KINETO_ANNOTATION,     /* record_function, on the host */
    MS_KINETO_GPU_ANNOTATION, /* the time of its kernels on one stream */
} ms_kineto_category;

/* An input of an operator: `Input Dims`, `Input type`, `Concrete Inputs`. */
typedef struct ms_kineto_input {
    int rank; /* sizes; MS_KINETO_NONE: more than are kept, or a list of tensors */
    int64_t sizes[MS_KINETO_RANK];
    char type[MS_KINETO_WORD]; /* "c10::BFloat16" */
    char value[8];             /* of a scalar: "True" */
} ms_kineto_input;

/* What a collective sends: arguments of record_param_comms, which newer versions repeat in its
 * kernel. */
typedef struct ms_kineto_message {
    char collective[MS_KINETO_WORD]; /* "_allgather_base"; "": the event says nothing of it */
    char type[MS_KINETO_WORD];       /* "BFloat16" */
    char group[MS_KINETO_WORD];      /* name of the process group */
    char described[MS_KINETO_WORD];  /* what its maker calls it: "TENSOR_MODEL_PARALLEL_GROUP" */
    int64_t in_elements, out_elements, group_size; /* MS_KINETO_NONE: not said */
} ms_kineto_message;

/* An event with a duration. */
typedef struct ms_kineto_event {
    ms_kineto_category category;
    const char *name;
    int64_t start_ns, duration_ns;
    int64_t external_id; /* of the operator that launched it, or its own; MS_KINETO_NONE: none */
    int64_t correlation; /* of a launch and its kernel */
    int64_t thread;      /* MS_KINETO_NONE: no number */
    int64_t device, stream, bytes;
    const ms_kineto_input *inputs; /* [MS_KINETO_INPUTS] */
    int input_count;               /* that there are, at most MS_KINETO_INPUTS */
    const ms_kineto_message *message;
} ms_kineto_event;

/* What stands beside the events. */
typedef struct ms_kineto_head {
    int64_t rank, world_size;    /* distributedInfo; MS_KINETO_NONE: not said */
    char device[MS_KINETO_WORD]; /* name of the first GPU; "": not said */
    bool has_events;             /* there was a list of them */
    bool has_schema;             /* Kineto's schemaVersion */
    bool is_meshsim;             /* written by this program */
} ms_kineto_head;

/* Who gets the events. What returns false ends the reading, and has said why, or memory is out. */
typedef struct ms_kineto_sink {
    void *context;
    bool (*event)(void *context, const ms_kineto_event *event);
} ms_kineto_sink;

/* What is wrong with single events, which are then left out. */
typedef struct ms_kineto_faults {
    int64_t negative;      /* their duration is below 0 */
    int negative_line;     /* of the first of them */
    int64_t without_times; /* no `ts` or no `dur` */
    int without_line;
} ms_kineto_faults;

/* Events under way. */
typedef struct ms_kineto_reader ms_kineto_reader;

/* A reader of a file.  name: for faults.  sink: borrowed.  *reader_out: in `arena`.  Returns MS_OK;
 * MS_E_NOMEM, not reported. */
ms_status ms_kineto_reader_new(const char *name, const ms_kineto_sink *sink, ms_arena *arena,
                               ms_diag *diag, ms_kineto_reader **reader_out);

/* Its stream, for ms_stream_read_file or _text. */
ms_stream *ms_kineto_reader_stream(ms_kineto_reader *reader);

/* What it found besides events, whenever it has ended. */
const ms_kineto_head *ms_kineto_reader_head(const ms_kineto_reader *reader);
const ms_kineto_faults *ms_kineto_reader_faults(const ms_kineto_reader *reader);

/* Free what it holds outside its arena. */
void ms_kineto_reader_release(ms_kineto_reader *reader);

#endif
