/**
 * @file
 * Cases: published, measured training runs as files hold them, and what job each of them was.
 *
 * A case says what its source says and nothing else: what is not published is absent. How it
 * becomes a job is one set of rules for all cases (sim/study/cases.md): the cluster follows from
 * its GPU and network, what its source leaves out from notes or from the software that ran it. No
 * rule knows a single case.
 */
#ifndef MESHSIM_CASES_H
#define MESHSIM_CASES_H

#include <stdbool.h>
#include <stddef.h>

#include "meshsim/arena.h"
#include "meshsim/buffer.h"
#include "meshsim/config.h"
#include "meshsim/decls.h"
#include "meshsim/diag.h"
#include "meshsim/event.h"
#include "meshsim/spec.h"
#include "meshsim/status.h"
#include "meshsim/times.h"

MS_BEGIN_DECLS

/** Member of a case that its source does not publish: a count is 0, a switch this. */
enum { MS_CASE_UNKNOWN = -1 };

/** Where a case ran. */
typedef struct ms_case_system {
    const char *gpu;     /**< as the source names it, such as "A100-SXM4-80GB" */
    const char *network; /**< in the source's words; NULL: not published */
    double nic_Bps;      /**< of the network, per GPU and direction [B/s]; 0: not published */
    double nvlink_Bps;   /**< of a GPU's NVLinks, per direction [B/s]; 0: not published */
    int node_gpus;       /**< of a node; 0: not published */
    int nvlink_gpus;     /**< that NVLink joins; 0: not published */
} ms_case_system;

/** Experts and latent attention of a case's model; 0: it has none. */
typedef struct ms_case_experts {
    int experts, top_k, ffn;
    int shared_experts; /**< each with an inner size as the routed ones */
    int shared_ffn;     /**< inner size of all shared experts together; 0: see shared_experts */
    int dense_layers;   /**< at the front */
    ms_mla mla;         /**< kv_rank 0: plain heads */
} ms_case_experts;

/** What a case's model is, beyond its sizes. */
typedef struct ms_case_traits {
    bool has_alibi;          /**< no position embeddings are learned */
    bool has_parallel_block; /**< attention and MLP side by side */
    const char *window;      /**< attention to a window of tokens, in the source's words; or NULL */
    int is_tied;             /**< or MS_CASE_UNKNOWN, as the next two */
    int has_bias;
    int is_rms_norm;
    int has_learned_positions;
} ms_case_traits;

/** What was trained. */
typedef struct ms_case_model {
    const char *type; /**< "gpt", "llama", "moe_mla", "moe" */
    int layers, hidden, heads, kv_heads, head_dim, ffn, ffn_mats, vocab, sequence, mtp_layers;
    ms_case_experts experts;
    ms_case_traits traits;
} ms_case_model;

/** How it was laid out; a count of 0 is not published. */
typedef struct ms_case_parallel {
    int tp, pp, vpp, dp, cp, ep, etp;
    int has_sequence_parallel; /**< or MS_CASE_UNKNOWN, as the next two */
    int zero;                  /**< 3: FSDP */
    int reshards;              /**< zero 3: parameters are given up after the forward pass */
    ms_words order;            /**< outermost first; count 0: not published */
    ms_ints stage_layers;      /**< count 0: not published */
    const char *layout;        /**< Megatron's word for uneven stages; NULL: none */
} ms_case_parallel;

/** What runs in a step, in the words that all sources are brought to. */
typedef struct ms_case_schedule {
    const char *kind;            /**< "1f1b", "interleaved", "zbh1", "zbh2", "dualpipe", "layer" */
    const char *recompute;       /**< "none", "full", "selective", "partial", "unstated" */
    const char *recompute_words; /**< the source's own for that; NULL: not published */
    const char *precision;       /**< the source's own; NULL: not published */
    int micro_batch, global_batch, microbatches; /**< 0: not published */
} ms_case_schedule;

/** One figure that a source publishes. */
typedef struct ms_case_figure {
    const char *name; /**< unit in its name */
    const char *text; /**< as it stands */
    double value;     /**< NAN: no number */
} ms_case_figure;

/** What a pipeline rank's time in a step goes to, as DeepSeek-V3's authors part it: passes that run
 * alone by their kind, pairs of a forward and a backward pass, the step's end, and waiting. */
typedef enum ms_step_phase {
    MS_STEP_FORWARD,  /**< "1F": forward passes that run alone */
    MS_STEP_BUBBLE,   /**< "bubble": between passes */
    MS_STEP_BACKWARD, /**< "1B": backward passes that run alone, of input gradients or of both */
    MS_STEP_WEIGHT,   /**< "1W": weight gradients put off */
    MS_STEP_PAIR,     /**< "1F1B": a forward and a backward pass that run together */
    MS_STEP_END,      /**< "optimizer": behind the last pass of all ranks */
    MS_STEP_PHASE_COUNT,
} ms_step_phase;

/** What was measured. */
typedef struct ms_case_measured {
    double step_s;                /**< the number to predict; NAN: none */
    double low_s, high_s;         /**< it is right anywhere between them; NAN: it is one number */
    double peak_B;                /**< memory; NAN: none */
    double static_B;              /**< memory between steps; NAN: none */
    double forward_s, backward_s; /**< of a layer; NAN: none */
    double layer_s;               /**< both; NAN: none */
    double phase_s[MS_STEP_PHASE_COUNT]; /**< of a step; NAN: none */
    bool is_last_rank; /**< memory is that of the last rank, not of the fullest one */
    bool is_allocated; /**< it counts tensors, not what the allocator reserved */
    bool is_device;    /**< it counts all of the device, with context and communication library */
    const ms_case_figure *figures; /**< [figure_count] everything, as it stands */
    size_t figure_count;
} ms_case_measured;

/** A run of the user's own: its job is a workload file. */
typedef struct ms_case_own {
    const char *workload; /**< its path; NULL: the case is a published one */
    const char *platform; /**< in place of the workload's; NULL: that */
    ms_words sets;        /**< overrides of the workload */
} ms_case_own;

/** Which table a case's step time belongs to. */
typedef enum ms_case_use {
    MS_CASE_SCORED, /**< a group of the score */
    MS_CASE_APART,  /**< a table of its own, outside the mean of groups */
    MS_CASE_LAYER,  /**< a layer, not a step */
} ms_case_use;

/** A case. */
typedef struct ms_case {
    const char *id;
    const char *group;
    const char *source;       /**< for readers; NULL: none */
    const char *notes;        /**< NULL: none */
    const char *provenance;   /**< how it was read, with a date; NULL: not said */
    const char *url;          /**< of the source; NULL: not said */
    const char *framework;    /**< what its software is called here; NULL: the rules say */
    ms_words arguments;       /**< of the run, each with its value behind a space; count 0: none */
    const char *foreign_keys; /**< keys that no rule knows, with commas; NULL: none */
    ms_mark mark;             /**< where it stands */
    ms_case_use use;
    bool is_core;
    bool is_suspect; /**< its source's data contradict each other; it counts all the same */
    int gpus;        /**< 0: not published */
    ms_case_system system;
    ms_case_model model;
    ms_case_parallel parallel;
    ms_case_schedule schedule;
    ms_case_measured measured;
    ms_case_own own;
} ms_case;

/** A measured collective. */
typedef struct ms_case_collective {
    const char *system; /**< in the source's words */
    const char *source; /**< where it was published; NULL: not said */
    ms_coll_timing timing;
    ms_coll_kind kind;
    int ranks;
    int nodes;
    double size_B;     /**< nccl-tests' size; a plateau is taken at 16 GiB */
    double measured_s; /**< out of place */
    bool is_plateau;   /**< the source gives the bandwidth of large messages, without a size */
} ms_case_collective;

/** Everything that a list of files holds. */
typedef struct ms_measurements {
    ms_vector cases;       /**< ms_case, in the order of the files */
    ms_vector collectives; /**< ms_case_collective */
} ms_measurements;

/** Start with none; nothing is allocated. */
void ms_measurements_init(ms_measurements *measurements);
/** Free the lists; what cases point at is in the arena they were read into. */
void ms_measurements_release(ms_measurements *measurements);

/** Read a text of measurements and add what it holds: a YAML list of cases, a YAML mapping with
 * nccl-tests points, a log of nccl-tests, or, where its name ends in .csv, one of the four tables
 * (see workloads/validation/README.md).
 *  text: borrowed, only its name is kept.  What cases point at lives in `arena`.  Returns MS_OK;
 * MS_E_INPUT, every fault reported, an id that was there before among them; MS_E_NOMEM. */
ms_status ms_measurements_parse(const ms_text *text, ms_arena *arena, ms_diag *diag,
                                ms_measurements *measurements);

/** Read a file, else as ms_measurements_parse.  path: its name in messages.  Returns as that;
 * MS_E_IO when reading fails. */
ms_status ms_measurements_read(const char *path, ms_arena *arena, ms_diag *diag,
                               ms_measurements *measurements);

/** Turns cases into jobs; keeps what several of them need. */
typedef struct ms_case_rules ms_case_rules;

/** Rules that find frameworks and platforms below a folder.
 *  data_folder: holds workloads/frameworks and platforms; borrowed.  Returns them in
 * `arena`; NULL when memory runs out (reported). */
ms_case_rules *ms_case_rules_new(const char *data_folder, ms_arena *arena, ms_diag *diag);

/** Override keys of every job and of every platform that the rules find from then on.
 *  sets: "key.path=value" as --set has them, applied in order.  A key platform.tiers.*.KEY is that
 * of every tier.  Borrowed.  Returns MS_OK; MS_E_NOMEM (reported). */
ms_status ms_case_rules_override(ms_case_rules *rules, const ms_words *sets);

/** What job a case was. */
typedef struct ms_case_job {
    ms_job_spec spec;
    const char *framework; /**< what its software does where it says nothing */
    const char *reason;    /**< why there is no job; NULL: there is one */
    const char *differs; /**< what is simulated otherwise than it was, with semicolons; "": nothing
                          */
} ms_case_job;

/** Find the job of a case.
 *  *job_out: in the arena of the rules.  Returns MS_OK, also without a job, see `reason`;
 * MS_E_INPUT (reported) where a framework or platform cannot be read; MS_E_IO; MS_E_NOMEM. */
ms_status ms_case_translate(ms_case_rules *rules, const ms_case *c, ms_case_job *job_out);

/** Put a spec of ms_case_rules on the cluster that a source's words name.
 *  system: such as "A100-SXM4-80GB" and, or NULL, "Selene, HDR InfiniBand".  gpus: that the
 * cluster has at least.  Returns as ms_case_translate; MS_E_NO (not reported) where no platform
 * goes by those words. */
ms_status ms_case_find_platform(ms_case_rules *rules, const ms_case_system *system, int gpus,
                                const ms_platform **platform_out);

MS_END_DECLS

#endif
