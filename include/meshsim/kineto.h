/**
 * @file
 * Traces of PyTorch's profiler (Kineto): what the GPUs of some ranks did in some steps, and how
 * that compares with a simulated step.
 *
 * A file is read as a stream: memory grows with the work of the GPU in it (120 B a kernel at most),
 * not with its length. sim/study/kineto/kineto.md says what stands in a trace and how it is taken.
 */
#ifndef MESHSIM_KINETO_H
#define MESHSIM_KINETO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meshsim/arena.h"
#include "meshsim/buffer.h"
#include "meshsim/decls.h"
#include "meshsim/diag.h"
#include "meshsim/event.h"
#include "meshsim/job.h"
#include "meshsim/status.h"
#include "meshsim/table.h"

MS_BEGIN_DECLS

/** What a GPU was busy with. Those before MS_KINETO_COMPUTE_COUNT are computation. */
typedef enum ms_kineto_class {
    MS_KINETO_GEMM,
    MS_KINETO_ATTENTION,
    MS_KINETO_ELEMENTWISE, /**< norms, activations, casts and all else that reads and writes memory
                            */
    MS_KINETO_EMBEDDING,
    MS_KINETO_LOSS,
    MS_KINETO_OPTIMIZER,
    MS_KINETO_OTHER, /**< no rule knows the kernel's name */
    MS_KINETO_COMPUTE_COUNT,
    MS_KINETO_COMMUNICATION = MS_KINETO_COMPUTE_COUNT,
    MS_KINETO_COPY, /**< copies and settings of memory that are no kernels */
    MS_KINETO_CLASS_COUNT,
} ms_kineto_class;

/** Name of a class, such as "gemm"; static storage. */
const char *ms_kineto_class_name(ms_kineto_class which);

/** Class of a kernel by its name.  length: of `name` [B].  O(length). */
ms_kineto_class ms_kineto_class_of(const char *name, size_t length);

/** All kernels of one name, on all ranks. Times are those of single calls [s]. */
typedef struct ms_kineto_kernel {
    const char *name;
    ms_kineto_class class_of;
    const char *class_name;
    int64_t count;
    double total_s, mean_s, min_s, max_s;
    const char *streams; /**< numbers, with blanks: "7 20" */
} ms_kineto_kernel;

/** Messages of one collective, process group and size. */
typedef struct ms_kineto_collective {
    const char *collective; /**< as the trace names it, or what the kernel's name says */
    const char *kind;       /**< all_reduce, ...; NULL: none that is simulated */
    ms_coll_kind coll;
    const char *group;  /**< its description, else its name; NULL: the trace does not say */
    int64_t group_size; /**< 0: not said */
    const char *type;   /**< of an element; NULL: not said */
    double size_B; /**< whole buffer: what a member has in an all-reduce or puts in, or gets out
                        of an all-gather; NAN: not said */
    int64_t count;
    double total_s, mean_s, min_s, max_s;
} ms_kineto_collective;

/** Communication of one kind in one process group, which `collectives` part by size. Seconds are
 * means over the steps of all ranks. */
typedef struct ms_kineto_channel {
    const char *kind; /**< as ms_kineto_collective, "other" where that is NULL */
    ms_coll_kind coll;
    const char *group; /**< "" where the trace does not say */
    int64_t group_size;
    double count;     /**< calls */
    double busy_s;    /**< while some such kernel ran */
    double exposed_s; /**< of it, while nothing computed; shared evenly with others beside it */
} ms_kineto_channel;

/** Times of one step on one rank [s]. wall_s = compute_s + exposed_s + copy_s + idle_s, and
 * compute_s is the sum of class_s. */
typedef struct ms_kineto_step {
    int64_t rank;   /**< -1: the trace does not say */
    int64_t number; /**< of ProfilerStep#; -1: the whole trace counts as one or several steps */
    double wall_s;
    double busy_s;          /**< while the GPU did anything */
    double compute_s;       /**< while some kernel computed */
    double communication_s; /**< while some kernel communicated */
    double exposed_s;       /**< of it, while nothing computed */
    double copy_s;          /**< while it only copied */
    double idle_s;
    double class_s[MS_KINETO_COMPUTE_COUNT]; /**< compute_s, shared evenly among kernels that ran at
                                                the same time */
} ms_kineto_step;

/** A matrix product or an attention whose sizes the trace has, as a row of a table of measured
 * kernels (platforms/README.md). */
typedef struct ms_kineto_shape {
    const char *kernel; /**< gemm, attention, attention_backward */
    const char *shape;  /**< as such a table has it: "4096x11008x4096" */
    const char *type;   /**< of its operands, as PyTorch names it */
    const char *why;    /**< why it is in no table; NULL: it is */
    int64_t count;
    int64_t beside; /**< of them, beside communication */
    double mean_s;  /**< of those that no communication ran beside, if there are any */
} ms_kineto_shape;

/** A file. */
typedef struct ms_kineto_rank {
    const char *file;
    int64_t rank, world_size; /**< -1: not said */
    const char *device;       /**< name of the GPU; NULL: not said */
    int64_t kernels;          /**< and copies, in the steps or not */
    int64_t steps;            /**< ProfilerStep annotations; 0: none, the whole trace counts */
    double outside_s;         /**< GPU time of kernels outside of all steps, summed */
    bool has_gpu_steps;       /**< steps are those of the GPU, not of the host */
} ms_kineto_rank;

/** All of it. Arrays in the arena of ms_kineto_read. */
typedef struct ms_kineto_trace {
    ms_kineto_rank *ranks; /**< [rank_count] */
    size_t rank_count;
    ms_kineto_step *steps; /**< [step_count] rank by rank */
    size_t step_count;
    ms_kineto_step mean;       /**< of all steps */
    ms_kineto_kernel *kernels; /**< [kernel_count], most total time first */
    size_t kernel_count;
    ms_kineto_collective *collectives; /**< [collective_count], likewise */
    size_t collective_count;
    ms_kineto_channel *channels; /**< [channel_count], most busy first */
    size_t channel_count;
    ms_kineto_shape *shapes; /**< [shape_count], most total time first */
    size_t shape_count;
} ms_kineto_trace;

/** Files to read. All is borrowed. */
typedef struct ms_kineto_source {
    const char *const *files; /**< [file_count] one per rank */
    size_t file_count;
    int64_t steps; /**< steps in a file without ProfilerStep annotations, >= 1 */
    const char
        *text; /**< the only file's text [text_B], in the place of reading it; NULL: read it */
    size_t text_B;
} ms_kineto_source;

/** Read traces and sum them up.
 *  *trace_out: in `arena`.  Returns MS_OK; MS_E_INPUT (no JSON, no trace of Kineto's, no GPU in it,
 * a rank twice, files of jobs of different size), reported; MS_E_IO; MS_E_NOMEM.  O(bytes + kernels
 * log kernels); memory as above. */
ms_status ms_kineto_read(const ms_kineto_source *source, ms_arena *arena, ms_diag *diag,
                         ms_kineto_trace *trace_out);

/** The table of measured kernels that `measured` of a GPU type and `calibrate --kernels` read:
 * shapes that no column `why` leaves out, with columns kernel, shape and time. *table_out: rows in
 * `arena`.  Returns MS_OK; MS_E_NOMEM, not reported. */
ms_status ms_kineto_measured(const ms_kineto_trace *trace, ms_arena *arena, ms_table *table_out);

/** Whether that table says anything.  trace: with one rank at least.  Returns MS_OK; MS_E_INPUT,
 * the reason reported. */
ms_status ms_kineto_check_measured(const ms_kineto_trace *trace, const ms_table *table,
                                   ms_diag *diag);

/** A part of the step, measured and predicted [s]. Parts of level 1 sum to the step, those of level
 * 2 to the one of level 1 before them. */
typedef struct ms_kineto_part {
    const char *part; /**< "step", "computation", "computation.gemm", "waiting.tp", ... */
    int64_t level;    /**< 0: the step */
    double measured_s, predicted_s; /**< NAN: there is no such part on that side */
    double difference_s;            /**< predicted - measured, what is missing counted as 0 */
    double ratio;                   /**< predicted / measured; NAN where either is missing or 0 */
} ms_kineto_part;

/** Communication of one axis and kind, measured and predicted: of a GPU and step [s]. */
typedef struct ms_kineto_matched {
    const char *axis; /**< of the workload's mesh; "unmatched": the trace does not say which */
    const char *kind;
    const char *groups; /**< process groups of the trace; NULL: only predicted */
    double measured_calls, predicted_calls;
    double measured_busy_s, predicted_busy_s; /**< waiting for other members is part of both */
    double measured_exposed_s, predicted_exposed_s; /**< a simulation tells what an axis exposes:
                                                       NAN where it has several kinds */
} ms_kineto_matched;

/** A trace beside a simulated step. Arrays in the arena of ms_kineto_compare. */
typedef struct ms_kineto_comparison {
    ms_kineto_part *parts; /**< [part_count] */
    size_t part_count;
    ms_kineto_matched *communication; /**< [communication_count] by axis */
    size_t communication_count;
    bool is_of_traced; /**< predicted parts are those of the traced ranks' pipeline ranks; else of
                          all ranks: the trace does not say which these are, or of another world */
} ms_kineto_comparison;

/** Put the mean of a trace's steps beside the simulated step of a job.
 *  *comparison_out: in `arena`.  Returns MS_OK; MS_E_NOMEM, not reported.  O(operations). */
ms_status ms_kineto_compare(const ms_kineto_trace *trace, const ms_result *result, ms_arena *arena,
                            ms_kineto_comparison *comparison_out);

/** Columns of the tables. */
extern const ms_table_column MS_KINETO_PART_COLUMNS[];
extern const ms_table_column MS_KINETO_MATCHED_COLUMNS[];
extern const ms_table_column MS_KINETO_KERNEL_COLUMNS[];
extern const ms_table_column MS_KINETO_COLLECTIVE_COLUMNS[];
extern const ms_table_column MS_KINETO_CHANNEL_COLUMNS[];
extern const ms_table_column MS_KINETO_STEP_COLUMNS[];
extern const ms_table_column MS_KINETO_SHAPE_COLUMNS[];
extern const ms_table_column MS_KINETO_RANK_COLUMNS[];

MS_END_DECLS

#endif
