/**
 * @file
 * Arguments of Megatron-LM said as keys of a workload, for measured runs whose arguments are known
 * (`meshsim validate`). `meshsim import megatron` has a translation of its own, in Python.
 */
#ifndef MESHSIM_MEGATRON_H
#define MESHSIM_MEGATRON_H

#include <stdbool.h>
#include <stddef.h>

#include "meshsim/arena.h"
#include "meshsim/buffer.h"
#include "meshsim/config.h"
#include "meshsim/decls.h"
#include "meshsim/diag.h"
#include "meshsim/status.h"

MS_BEGIN_DECLS

/** What became of an argument. */
typedef enum ms_megatron_use {
    MS_MEGATRON_UNKNOWN,   /**< no argument of Megatron-LM that meshsim knows */
    MS_MEGATRON_USED,      /**< it decided a key */
    MS_MEGATRON_IGNORED,   /**< it changes neither time nor memory of a step, or not in this job */
    MS_MEGATRON_DIFFERENT, /**< it does, and the job is simulated as if it did not, or otherwise */
} ms_megatron_use;

/** An argument as it was given, in Megatron-LM's words whatever it was read from. */
typedef struct ms_megatron_argument {
    const char *name;    /**< "--num-layers"; "env NAME" of a variable; "launcher --nnodes" */
    const char *value;   /**< several with blanks between them; "": it takes none */
    ms_mark mark;        /**< where it stands; file NULL: in no file */
    ms_megatron_use use; /**< set by ms_megatron_translate */
    const char *why;     /**< of one that is ignored or different; else NULL */
} ms_megatron_argument;

/** The arguments of one job. */
typedef struct ms_megatron_arguments {
    ms_vector items; /**< ms_megatron_argument, in the order given; the last of a name counts */
} ms_megatron_arguments;

/** Start with none; nothing is allocated. */
void ms_megatron_arguments_init(ms_megatron_arguments *arguments);
/** Free the list; what arguments point at is in the arena they were read into. */
void ms_megatron_arguments_release(ms_megatron_arguments *arguments);

/** Take arguments that are apart already, each with its value behind a blank, and variables as
 * "env NAME=VALUE".  Returns MS_OK; MS_E_NOMEM (reported). */
ms_status ms_megatron_take(const ms_words *words, ms_arena *arena, ms_diag *diag,
                           ms_megatron_arguments *arguments);

/** Virtual pipeline stages as --pipeline-model-parallel-layout writes them. */
typedef struct ms_megatron_layout {
    int stages;
    int *layers;        /**< [stages] transformer layers of each */
    int mtp_stage;      /**< with the prediction modules; -1: there are none */
    int mtp_layers;     /**< prediction modules */
    int loss_stage;     /**< with the output layer */
    int total;          /**< transformer layers */
    bool has_alone_end; /**< embedding or output layer has a stage without layers */
} ms_megatron_layout;

/** Read a layout: letters E (embedding), t (layer), m (prediction module) and L (loss), '|' between
 * stages, "t*3" and "(tt|)*5" for repetition, commas for looks.
 *  mark: of the text, for messages; may be NULL.  *layout_out: in `arena`.
 *  Returns MS_OK; MS_E_INPUT (reported, with the character); MS_E_NOMEM.
 *  Source: Megatron-LM, megatron.core.transformer.pipeline_parallel_layer_layout. */
ms_status ms_megatron_read_layout(const char *text, const ms_mark *mark, ms_arena *arena,
                                  ms_diag *diag, ms_megatron_layout *layout_out);

/** Read a list expression, such as "([0]*3+[1]*11)" or "[0, 1, 1]", of integers.
 *  *values_out: in `arena`, at most 100,000.  Returns as ms_megatron_read_layout.
 *  Source: Megatron-LM, megatron.training.arguments (moe_freq_type: a Python expression of lists,
 * integers, + and *). */
ms_status ms_megatron_read_pattern(const char *text, const ms_mark *mark, ms_arena *arena,
                                   ms_diag *diag, ms_ints *values_out);

/** Read a schedule of batches, such as "0:384 200B:768 400B:1152": thresholds in tokens, from 0 up,
 * and sequences a step from there on.
 *  *batches_out: in `arena`, one at least.  Returns as ms_megatron_read_layout.
 *  Source: Megatron-LM, megatron.core.num_microbatches_calculator. */
ms_status ms_megatron_read_steps(const char *text, const ms_mark *mark, ms_arena *arena,
                                 ms_diag *diag, ms_ints *batches_out);

/** What arguments leave to their surroundings. */
typedef struct ms_megatron_facts {
    const char *framework;   /**< profile of the software; NULL: by the arguments */
    const char *data_folder; /**< installed data: its `workloads/frameworks` is searched last */
    int gpus;                /**< of the job; 0: as the arguments of the launcher say, if they do */
    int vocab;               /**< padded; 0: as the arguments say, if they do */
    int global_batch;        /**< where the arguments have none or several; 0: not known */
} ms_megatron_facts;

/** A key of a workload, as --set has it. */
typedef struct ms_megatron_setting {
    const char *key;   /**< dotted path */
    const char *value; /**< YAML flow text; NULL: the arguments do not say it, it is required */
    const char *set;   /**< both as an override, "key=value"; NULL without a value */
    const char *from;  /**< the arguments that decide it, or what is required */
    ms_mark mark;      /**< of the first of them that was given; file NULL: none was */
} ms_megatron_setting;

/** A job in keys of a workload. */
typedef struct ms_megatron_job {
    const char *framework; /**< profile that its other choices come from */
    int gpus;              /**< of all ranks; 0: nothing says how many */
    ms_vector settings;    /**< ms_megatron_setting, in the order of a workload */
} ms_megatron_job;

/** Start with none; nothing is allocated. */
void ms_megatron_job_init(ms_megatron_job *job);
/** Free the list of settings. */
void ms_megatron_job_release(ms_megatron_job *job);

/** Say arguments as keys of a workload, and of each argument what became of it.
 *  arguments: `use` and `why` of each are set.  *job: added to; its texts live in `arena`.  Keys
 * that neither arguments nor facts decide are among the settings without a value.
 *  Returns MS_OK; MS_E_INPUT where values are wrong or contradict each other, every fault reported;
 * MS_E_IO; MS_E_NOMEM. */
ms_status ms_megatron_translate(ms_megatron_arguments *arguments, const ms_megatron_facts *facts,
                                ms_arena *arena, ms_diag *diag, ms_megatron_job *job);

MS_END_DECLS

#endif
