/**
 * @file
 * Job specs (everything that describes the job to be simulated, as one plain value) and jobs (specs
 * that are checked and laid out).
 *
 * A spec comes from a workload file (ms_job_spec_read) or from another spec: copy the struct, set
 * members, and check it again. None of its members is text that has to be parsed again; lists and
 * strings are borrowed and shared by copies. A key that the user leaves out is left open in the
 * spec, and decided when the job is laid out, so that a spec with another ZeRO stage or number of
 * pipeline ranks gets the defaults that go with it.
 *
 * Nouns of the room `job`, and what the same words mean elsewhere:
 * - workload: a file that describes a job. It names a platform, and may name a framework, whose
 *   profile holds choices.
 * - spec: the keys of a workload as a struct (ms_job_spec).
 * - job: a spec that is checked and laid out: mesh, layout, order of passes, costs (ms_job).
 * - layout: parallel degrees and choices by which the model is cut up (ms_model_layout).
 * - partition: which stage has which layers (schedule.partition).
 * - request: a workload's file, --set overrides and options (ms_job_request).
 * - step end: the part of a step behind the last backward pass: reductions, the gradient's norm,
 *   the update.
 * - factor: multiple of the time that a rank's computations, or its links, take
 *   (ms_rank_properties).
 */
#ifndef MESHSIM_SPEC_H
#define MESHSIM_SPEC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/config/config.h"
#include "base/diag.h"
#include "base/event.h"
#include "base/status.h"
#include "cluster/mesh/mesh.h"
#include "cluster/placement/placement.h"
#include "cluster/platform/platform.h"
#include "cluster/platform/price.h"
#include "collective/collective.h"
#include "model/model.h"
#include "model/stage_costs.h"
#include "schedule/schedule.h"

/** How a job is simulated: which ranks and microbatches, and by which solver. Not part of the job.
 * "Internal" choices are set by functions and not by options of the command line. */
typedef struct ms_run_choice {
    bool no_fold;    /**< simulate every rank, without one rank standing for others alike */
    bool is_bounded; /**< simulate one rank of each pipeline rank, even if its ranks differ */
    bool has_bounds; /**< with is_bounded: give bounds also where all ranks are alike; internal */
    bool no_fast_forward; /**< simulate every microbatch, even if the step repeats itself */
    bool trusts_folding;  /**< do not test whether rounding keeps ranks alike; internal */
    bool no_sharing; /**< estimate without the bandwidth that pipeline ranks take from each other on
                        shared links, as ms_estimator_run does; internal */
    unsigned operation_axes; /**< MS_AXIS_BIT of axes whose collectives are operations although
                                granularity is `pass`; internal */
    ms_solver solver;
} ms_run_choice;

/** A workload and what the command line changes of it. All strings are borrowed. */
typedef struct ms_job_request {
    const char *workload; /**< path of the workload file; where there is no file of that name, one
                             without '/' is the name of one in data_folder/workloads */
    const char *text;     /**< the workload's text, if it comes from no file: `workload` is then its
                             name in messages, and relative paths start at that name's folder; NULL:
                             the file is read */
    const char *platform; /**< replaces the workload's platform file; NULL: as the workload says */
    const char *data_folder; /**< installed data: its `platforms` is searched last; may be NULL */
    const char *const *sets; /**< [set_count] overrides "key.path=value", applied in order */
    size_t set_count;
    const char *fidelity; /**< "analytic", "flow"; NULL: as the workload says */
    ms_run_choice run;
} ms_job_request;

/** Value of an int member whose key the user left out: its default depends on other keys. */
enum { MS_SPEC_OPEN = -1 };

/** Sequences per step at most: far above any run, and a count that fits into an int. */
enum { MS_BATCH_MAX = 100000000 };

/** The software that runs the job. Its profile holds choices for keys that the workload leaves
 * out. */
typedef struct ms_spec_framework {
    const char *name; /**< of its profile, as the user writes it; NULL: none */
    bool is_none;     /**< the workload says `framework: none`: no profile is read */
    bool is_expanded; /**< the profile's choices are among the spec's own values, as they always are
                         after reading */
} ms_spec_framework;

/** The platform (cluster): its name and changes in the workload, and the loaded result. */
typedef struct ms_spec_platform {
    const char *file; /**< name or path, as the user writes it; relative to the spec's folder if it
                         is a path */
    const ms_node *changes;     /**< mapping laid over the file; NULL: none */
    const ms_platform *cluster; /**< the platform with the changes; specs derived from one another
                                   share it */
    const ms_node *document;    /**< the effective platform as a tree */
    const char *text;           /**< the effective platform as YAML */
    const char *effective_text; /**< the platform's given keys with their values and origins */
    const char *sources_text;   /**< comments behind these keys in the platform's files */
} ms_spec_platform;

/** Sizes of the axes. */
typedef struct ms_spec_mesh {
    const char *names[MS_MESH_AXES_MAX]; /**< [axes] outermost first */
    int sizes[MS_MESH_AXES_MAX];         /**< [axes] >= 1 */
    int axes;
} ms_spec_mesh;

/** How a forward and a backward pass that a schedule pairs run: together, or one after the other.
 */
typedef enum ms_pair_overlap { MS_OVERLAP_FUSED, MS_OVERLAP_SERIAL } ms_pair_overlap;

/** Whether a rank that sends to a stage goes on, or waits for the arrival. */
typedef enum ms_sends { MS_SENDS_ASYNC, MS_SENDS_BLOCKING } ms_sends;

/** Whether all ranks wait for the gradient's norm before they update, or each updates at once. */
typedef enum ms_step_end { MS_STEP_END_SYNCHRONOUS, MS_STEP_END_POST_VALIDATION } ms_step_end;

/** How layers are shared out over virtual stages: equally, or so that the pipeline rank with most
 * work has as little as possible. */
typedef enum ms_partition_kind { MS_PARTITION_EVEN, MS_PARTITION_BALANCED } ms_partition_kind;

/** Which stage has which layers. */
typedef struct ms_spec_partition {
    ms_partition_kind kind;
    int first_stage_layers; /**< of the first virtual stage; 0: not given */
    int last_stage_layers;  /**< of the last one; 0: not given */
    ms_ints stage_layers;   /**< of every virtual stage; count 0: not given */
} ms_spec_partition;

/** The pipeline schedule. */
typedef struct ms_spec_schedule {
    ms_schedule_kind kind; /**< MS_SCHEDULE_CUSTOM: the order of passes is read from a file */
    const char *csv;       /**< that file, relative to the spec's folder; NULL: the kind's order */
    int chunks;            /**< virtual stages per rank V; 0: as the schedule's kind needs */
    int group;             /**< microbatches per group; 0: the number of pipeline ranks */
    int slices;            /**< slices of a sequence K, >= 1 */
    bool is_reordered;     /**< vhalf, vmin: passes are moved into earlier gaps */
    ms_pair_overlap overlap;
    int communication_sms; /**< held by communication while overlapped pairs run, >= 0 */
    ms_sends sends;
    ms_step_end step_end;
    ms_spec_partition partition;
} ms_spec_schedule;

/** Sequences per step. */
typedef struct ms_spec_batch {
    int global;       /**< over all replicas; 0: not given */
    int micro;        /**< per microbatch and replica, >= 1 */
    int microbatches; /**< per step and replica; 0: not given */
} ms_spec_batch;

/** Types of working parameters and of gradients. */
typedef enum ms_dtype { MS_DTYPE_BF16, MS_DTYPE_FP16, MS_DTYPE_FP32 } ms_dtype;

/** `precision`: types of what is stored, and formats of products. */
typedef struct ms_spec_precision {
    ms_dtype parameters;
    ms_dtype gradients;
    double optimizer_B; /**< optimizer state per parameter [B] */
    ms_products products;
} ms_spec_precision;

/** Where the host waits for its GPU, bits. */
typedef enum ms_host_sync {
    MS_SYNC_MESSAGES = 1, /**< before every pass that needs a message, or follows a message that the
                             rank has sent and waits for */
    MS_SYNC_NORM = 2,     /**< before the update, for the gradient's norm */
    MS_SYNC_KERNELS = 4,  /**< after every kernel, so that the launch adds to the kernel's time
                             (CUDA_LAUNCH_BLOCKING) */
    MS_SYNC_BATCH = 8,    /**< before every forward pass, for the sizes of its batch */
    MS_SYNC_EXPERTS = 16, /**< in every forward pass of routed experts, for the number of copies
                             that each expert gets */
} ms_host_sync;

/** How the host of a rank launches its kernels, one after the other. */
typedef struct ms_spec_host {
    double launch_s;          /**< time per launch [s]; 0: the GPU never waits for the host */
    unsigned syncs;           /**< MS_SYNC_ bits */
    bool replaces_slow_nodes; /**< nodes that compute slower than others are found and replaced */
} ms_spec_host;

/** Whether a rank's host waits for its GPU before a pass. Every pass but W needs messages; every
 * forward pass needs the sizes of its batch.  has_messages: pipeline ranks exchange messages. */
static inline bool ms_host_waits(const ms_spec_host *host, ms_pass pass, bool has_messages) {
    return ((host->syncs & MS_SYNC_MESSAGES) && has_messages && pass != MS_PASS_W) ||
           ((host->syncs & MS_SYNC_BATCH) && pass == MS_PASS_F);
}

/** How much is simulated, and in which detail. */
typedef struct ms_spec_simulation {
    int steps; /**< optimizer steps, >= 1 */
    ms_fidelity fidelity;
    ms_granularity granularity;
} ms_spec_simulation;

/** Origin of a spec, for messages and listings of its keys only: nothing else may read it. */
typedef struct ms_spec_source {
    const char *path;    /**< the workload file; NULL: the spec comes from no file */
    const ms_node *root; /**< its tree with the overrides; NULL: faults name keys without a place */
    const char *text;    /**< that tree as YAML; NULL without a file */
    const char *effective_text; /**< every key with its value and origin; NULL without a file */
    const ms_node *typed;       /**< the file with the overrides as the user typed them, before the
                                   framework's choices; NULL without a file */
    const char *data_folder;    /**< of the request; may be NULL */
} ms_spec_source;

/** A spec: the members are the sections of a workload file. */
typedef struct ms_job_spec {
    const char *name; /**< name of the job; NULL: the name of its file */
    const char *description;
    const char *folder; /**< at which relative paths in the spec start; without '/' at its end */
    ms_spec_framework framework;
    ms_spec_platform platform;
    ms_spec_mesh mesh;
    ms_rank_placement_choice placement;
    ms_expert_axes experts; /**< the experts' own mesh; ep 0: they use the axes of `mesh` */
    bool has_model;         /**< `model` is set; else `costs` */
    ms_model model;         /**< with the sizes that follow from others filled in */
    ms_given_costs costs;   /**< given times in place of a model */
    ms_spec_schedule schedule;
    ms_spec_batch batch;
    ms_spec_precision precision;
    ms_model_layout choices; /**< members of the layout that keys give directly; members that follow
                                from mesh, platform and other keys are 0 */
    bool allows_slow_tp;     /**< more tp ranks than GPUs that share the fast links are allowed */
    int cp_overlap;          /**< whether a ring's blocks travel beside attention: 0, 1, or
                                MS_SPEC_OPEN */
    ms_words shard;          /**< axes that state is sharded over; count 0: all axes of replicas */
    int gather_stages;       /**< ZeRO 3: the next so many whole stages are gathered; 0: layer by
                                layer; MS_SPEC_OPEN: as a schedule file says, else 0 */
    int reduce;              /**< ms_reduce, or MS_SPEC_OPEN */
    ms_coll_choices algorithms; /**< algorithms of collectives, and communicators of messages */
    ms_spec_host host;          /**< of no use without a model: nothing is launched */
    ms_spec_simulation simulation;
    ms_spec_source source;
} ms_job_spec;

/** Read a workload file, apply the request's overrides, load its platform.
 *  *spec_out: in `arena`; its source remembers where every key stands.  Returns MS_OK; MS_E_INPUT,
 * every fault reported, those across keys that can be judged included; MS_E_USAGE; MS_E_IO;
 * MS_E_NOMEM. */
ms_status ms_job_spec_read(const ms_job_request *request, ms_arena *arena, ms_diag *diag,
                           ms_job_spec *spec_out);

/** Read a framework's choices, as the spec of a small model on one GPU, for callers that set sizes,
 * mesh, batch and cluster by hand.
 *  name: of the profile.  data_folder: installed data, whose `workloads/frameworks` is searched
 * last.  *spec_out: in `arena`, a spec that comes from no file; it has also the choices that need
 * more than one rank.  Returns as ms_job_spec_read. */
ms_status ms_job_spec_of_framework(const char *name, const char *data_folder, ms_arena *arena,
                                   ms_diag *diag, ms_job_spec *spec_out);

/** Derive a spec with other values of some keys, as ms_job_spec_read applies overrides to a file.
 *  sets: "key.path=value", applied in order; those of the platform's keys change nothing.
 * *spec_out: comes from no file, in `arena`, and shares the platform. Returns MS_OK; MS_E_INPUT or
 * MS_E_USAGE, every fault reported; MS_E_NOMEM. */
ms_status ms_job_spec_override(const ms_job_spec *spec, const ms_words *sets, ms_arena *arena,
                               ms_diag *diag, ms_job_spec *spec_out);

/** Read a workload once more with further overrides, which come after those of its first request.
 * Unlike in ms_job_spec_override, the framework's choices are made anew, for the sizes that the
 * overrides give. The file is not opened again.
 *  spec: as ms_job_spec_read left it; its platform and its fidelity stay.  sets: "key.path=value",
 * applied in order.  *spec_out: comes from no file, in `arena`, and shares the platform. Returns
 * MS_OK; MS_E_INPUT or MS_E_USAGE, every fault reported; MS_E_IO; MS_E_NOMEM. */
ms_status ms_job_spec_read_again(const ms_job_spec *spec, const ms_words *sets, ms_arena *arena,
                                 ms_diag *diag, ms_job_spec *spec_out);

/** The keys of a workload file, for schemas and listings. */
extern const ms_field MS_WORKLOAD_FIELDS[];

/** The words of a key of a workload that is one of an enumeration, or flags of one, in its order;
 * NULL behind the last.
 *  key: such as "precision.attention"; a key with words. */
const char *const *ms_job_spec_words(const char *key);

/** Append every key of a workload, one per line, as ms_config_write_keys does.  O(keys). */
void ms_job_spec_write_keys(ms_buffer *out);

/** Append a spec as a workload file that ms_job_spec_read makes an equal one of. Keys with their
 * default are left out; sizes of the model that follow from others stand there as if given.  Paths
 * in it start at the spec's folder.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_job_spec_write(const ms_job_spec *spec, ms_buffer *out);

/** Append every key of a workload and of its platform with the value in use and where it came from,
 * as ms_config_write_resolved does: what the user typed, what a framework, a GPU type, a library or
 * the platform's file says, defaults, and what follows from other keys (origin "derived"). Where a
 * key's default is a rule and the spec leaves it open (MS_SPEC_OPEN), it is "not given".
 * `platform.file` is a name without folders.
 *  spec: of ms_job_spec_read, or a copy of such a one with more fields set; of a spec from no file
 * all that is no default counts as typed.  Returns MS_OK; MS_E_NOMEM, and out->failed.  O(keys *
 * rows). */
ms_status ms_job_spec_write_resolved(const ms_job_spec *spec, ms_buffer *out);

/** Index of an axis of the mesh by name, -1 if it has none. */
int ms_spec_axis(const ms_spec_mesh *mesh, const char *name);

/** Size of an axis of the mesh by name, 1 if it has none. */
int ms_spec_axis_size(const ms_spec_mesh *mesh, const char *name);

/** A copy of a spec to change: it comes from no file any more, so that faults name its keys and do
 * not point at what the file says. */
ms_job_spec ms_job_spec_derive(const ms_job_spec *spec);

/** A key that the user gave and that changes nothing in a job, because the job does not have what
 * the key asks for. */
typedef struct ms_idle_key {
    const char *key; /**< dotted path of the key, such as "data_parallel.bucket" */
    ms_mark mark;    /**< place of the key in its file */
    const char *why; /**< as the end of "changes nothing: ..." */
} ms_idle_key;

/** Keys without an effect, in no order. */
typedef struct ms_idle_keys {
    const ms_idle_key *items; /**< [count] */
    int count;
} ms_idle_keys;

/** Factors by which a rank differs from others of its job, for slow GPUs, slow links and noise. No
 * key of a workload sets them. */
typedef struct ms_rank_properties {
    double compute_factor; /**< on the time of its computations and of its update, > 0 */
    double link_factor;    /**< on the time that bytes take on the links of its GPU, > 0 */
} ms_rank_properties;

/** The smallest and the largest factor of several ranks. */
typedef struct ms_factor_range {
    double least, most;
} ms_factor_range;

/** A job: a spec that was checked and laid out, and what its stages cost. The one struct that
 * carries a job from its keys to lowering, estimate and metrics (sim/job/job.md). */
typedef struct ms_job {
    ms_job_spec spec;
    const char *name;
    const ms_platform *platform; /**< the spec's cluster; where ranks have links of their own speed,
                                    a copy of it with link_factors */
    ms_mesh mesh;                /**< its ranks on the GPUs of the placement */
    ms_rank_placement placement;
    const ms_mesh *expert_mesh; /**< the experts' own view of its ranks; NULL: `mesh` */
    int microbatches;           /**< M */
    int global_batch;           /**< sequences per step; 0 with `costs:` and no batch */
    ms_precision precision;
    ms_model_layout layout; /**< degrees and choices; stage_layers: NULL for a balanced partition
                               until its layers are shared out (layer_partition.h), and without a
                               model */
    ms_program program;
    const char *schedule_text; /**< the file that holds the order; NULL: a kind makes it */
    bool has_pairs;            /**< the order pairs passes, whether or not they then run together */
    ms_spec_host host;         /**< how ranks launch their operations: ms_spec_host_of the spec */
    ms_stage_costs costs;      /**< of all stages; set by ms_job_build */
    ms_idle_keys idle_keys;    /**< keys that the user gave and that change nothing; likewise */
    const ms_rank_properties *rank_properties; /**< [mesh.ranks]; NULL: all factors are 1; set by
                                                  ms_job_set_rank_properties */
    const ms_factor_range *compute_factors;    /**< [P] of the ranks of each pipeline rank; NULL:
                                                  likewise */
    ms_run_choice run;
} ms_job;

/** Give the ranks of a job properties of their own, in place of those that it has.
 *  properties: [job->mesh.ranks], copied.  A rank's links are those that routes of its GPU begin or
 * end with; one that several ranks share takes the largest of their factors.  arena: outlives the
 * job.  Returns MS_OK; MS_E_RANGE if a factor is not above 0 and finite, nothing changed;
 * MS_E_NOMEM (both not reported).  O(ranks), and O(GPUs) routes for each rank whose links are not
 * at 1. */
ms_status ms_job_set_rank_properties(ms_job *job, const ms_rank_properties *properties,
                                     ms_arena *arena);

/** The factor on the time of the computations of a rank. */
static inline double ms_job_compute_factor(const ms_job *job, int rank) {
    return job->rank_properties == NULL ? 1.0 : job->rank_properties[rank].compute_factor;
}

/** The smallest and the largest such factor of the ranks of pipeline rank `p`. */
static inline ms_factor_range ms_job_compute_factors(const ms_job *job, int p) {
    const ms_factor_range even = {1.0, 1.0};
    return job->compute_factors == NULL ? even : job->compute_factors[p];
}

/** The factor on the time of the computations of the job's fastest rank.  O(P). */
double ms_job_least_compute_factor(const ms_job *job);

/** Whether a rank that sends waits for the arrival before it goes on. */
static inline bool ms_job_is_blocking(const ms_job *job) {
    return job->spec.schedule.sends == MS_SENDS_BLOCKING;
}

/** Whether every rank updates as soon as its own gradients are reduced; else all ranks wait for the
 * norm of the world's gradient. */
static inline bool ms_job_is_validated_late(const ms_job *job) {
    return job->spec.schedule.step_end == MS_STEP_END_POST_VALIDATION;
}

/** What a job holds of its platform, for ms_price_step_USD and ms_price_step_J.  step_s, busy_s: as
 * in ms_price_use. */
static inline ms_price_use ms_job_price_use(const ms_job *job, double step_s, double busy_s) {
    ms_price_use use;
    use.gpus = (double)job->mesh.ranks;
    use.spare_gpus = (double)job->placement.spare_gpus;
    use.step_s = step_s;
    use.busy_s = busy_s;
    return use;
}

/** Whether transfers share no links, as in fidelity `analytic`. */
static inline bool ms_job_is_alone(const ms_job *job) {
    return job->spec.simulation.fidelity == MS_FIDELITY_ANALYTIC;
}

/** Check a spec across its fields, and lay it out: ranks and GPUs, batch and microbatches, axes and
 * what they are used for, the schedule's order, layers over stages, the model over the degrees.
 * This is the whole check: what is laid out can be built, with one exception: whether a stage of a
 * balanced partition gets as many layers as `recompute_layers` counts shows once they are shared
 * out.
 *  *job_out: in `arena`, without costs and name; borrows what the spec borrows.  Returns MS_OK;
 * MS_E_INPUT with every fault reported; MS_E_IO when the schedule's file cannot be read;
 * MS_E_NOMEM.  O(actions). */
ms_status ms_job_lay_out(const ms_job_spec *spec, ms_arena *arena, ms_diag *diag, ms_job *job_out);

/** The first part of ms_job_lay_out, for callers that know the order of passes already: all but the
 * order, what follows from it in the layout, and layers over stages.  *job_out: its program is
 * empty.  Returns as ms_job_lay_out.  O(axes), and O(GPUs) where ranks are placed. */
ms_status ms_job_shape(const ms_job_spec *spec, ms_arena *arena, ms_diag *diag, ms_job *job_out);

/** Check early whether a model has layers for all virtual stages, for searches that try many jobs.
 * The number of stages follows from pipeline ranks and `schedule.v`; with a schedule file nothing
 * is checked.
 *  job: as ms_job_shape left it.  Returns MS_OK; MS_E_INPUT for what ms_job_partition refuses
 * (reported).  O(1). */
ms_status ms_job_check_layers(const ms_job *job, ms_diag *diag);

/** The second part: build the order, and check what depends on it.  job: as ms_job_shape left it.
 * Returns as ms_job_lay_out. */
ms_status ms_job_order(ms_job *job, ms_arena *arena, ms_diag *diag);

/** The third part, with a model: its layers over the virtual stages, its sizes over the degrees.
 * job: with its order.  Returns as ms_job_lay_out. */
ms_status ms_job_partition(ms_job *job, ms_arena *arena, ms_diag *diag);

/** What an order of passes follows from, of a shape: shapes with equal keys have equal orders. */
typedef struct ms_job_order_key {
    ms_schedule_spec order;
    const char *csv;   /**< the file that holds it, by its address; NULL: a kind makes it */
    int gather_stages; /**< as in ms_job_spec */
    bool is_serial, keeps_parameters, has_gather_overlap, has_rounds;
} ms_job_order_key;

/** The key of a job's order.  job: as ms_job_shape left it.  Bytes between the fields are 0. */
void ms_job_find_order_key(const ms_job *job, ms_job_order_key *key_out);

/** Give a shape the order of another job with the same key, in place of ms_job_order.  O(1). */
void ms_job_take_order(ms_job *job, const ms_job *other);

/** Find the keys in a job's file that change nothing, because the job does not have what they ask
 * for (idle_keys.c); none in a job that comes from no file.
 *  job: with its costs.  *keys_out: in `arena`.  Returns MS_OK; MS_E_NOMEM.  O(actions). */
ms_status ms_idle_keys_find(const ms_job *job, ms_arena *arena, ms_diag *diag,
                            ms_idle_keys *keys_out);

/** The open stages: virtual stages for which a partition gives no number of layers, that is, all
 * but the first or last one where these are given. */
typedef struct ms_open_stages {
    int first, count; /**< stages first .. first + count - 1; count < 0: a single stage's both ends
                         are given */
    int layers;       /**< layers that are left for them; < 0: the ends have more than the model */
} ms_open_stages;

/** The open stages of a spec that does not list its layers stage by stage.
 *  stages: S, virtual stages, >= 1.  O(1). */
ms_open_stages ms_spec_open_stages(const ms_job_spec *spec, int stages);

/** How the hosts of a spec's ranks launch kernels while their GPUs run. Given costs are launched in
 * no time. Nor is there a launch time where hosts wait for every kernel, as the kernels' times then
 * include it. */
static inline ms_spec_host ms_spec_host_of(const ms_job_spec *spec) {
    ms_spec_host host = spec->host;
    if (!spec->has_model || (host.syncs & MS_SYNC_KERNELS)) {
        host.launch_s = 0.0;
        host.syncs = 0;
    }
    return host;
}

/** Ranks of a job: the product of the sizes of its mesh, each rank a GPU. */
static inline int64_t ms_spec_ranks(const ms_job_spec *spec) {
    int64_t ranks = 1;
    for (int axis = 0; axis < spec->mesh.axes; axis++) {
        ranks *= spec->mesh.sizes[axis];
    }
    return ranks;
}

/** Bytes per element. */
double ms_dtype_B(ms_dtype dtype);

/** Report a fault of a spec at a key: with the place of the key in its file, or of the nearest
 * mapping around it, and without a place where the spec comes from no file.  Returns MS_E_INPUT. */
ms_status ms_spec_fault(const ms_job_spec *spec, ms_diag *diag, const char *key_path,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

/** Diagnostics for layers that know no files, whose messages are reported at a key of the spec. */
typedef struct ms_key_diag {
    ms_diag diag; /**< for the layer to report to */
    ms_diag *to;  /**< receives the messages */
    const ms_job_spec *spec;
    const char *key_path; /**< key that the messages are about */
} ms_key_diag;

/** Start diagnostics at a key.  What is reported to key_diag->diag goes on to `to`: with the key's
 * place and path in front, unless the message names a place already.  All borrowed; key_diag must
 * not move while it is in use. */
void ms_key_diag_init(ms_key_diag *key_diag, const ms_job_spec *spec, const char *key_path,
                      ms_diag *to);

#endif
