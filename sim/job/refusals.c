/* Jobs that a framework refuses to run, a row for each assertion of its code, so that no time is
 * predicted for a run that would end before its first step. (A profile holds only choices.) A row
 * applies to the profile names that it lists, whether the profile's choices were read from it or
 * are part of the workload's file. */
#include <string.h>

#include "job/internal.h"

/* Names of profiles by the code that they run: Megatron Core and what trains with it, Megatron-LM
 * before Megatron Core, DeepSpeed's pipelines, torchtitan. */
static const char *const MEGATRON_CORE[] = {
    "megatron-core", "megatron-core-2025", "nemo", "nemo-2024", "simumax", NULL};
static const char *const MEGATRON_LM[] = {"megatron-lm-2021", "megatron-lm-2022",
                                          "megatron-lm-2023", "zero-bubble", NULL};
static const char *const DEEPSPEED[] = {
    "deepspeed", "megatron-deepspeed", "megatron-deepspeed-fp16", "bloom", "bloom-fp16", NULL};
static const char *const TORCHTITAN[] = {"torchtitan", "torchtitan-2025", NULL};

/* Whether a model with experts has several tp ranks without sequence parallelism. */
static bool has_experts_without_sequence(const ms_job_spec *spec, const ms_model_layout *layout) {
    return spec->model.moe.experts > 0 && layout->tp > 1 && !layout->has_sequence_parallel;
}

/* Whether the schedule is one of Megatron's interleaved ones, with more than one virtual stage per
 * rank: with one virtual stage Megatron does not interleave. */
static bool is_interleaved(const ms_job_spec *spec) {
    const ms_spec_schedule *schedule = &spec->schedule;
    return schedule->chunks > 1 && (schedule->kind == MS_SCHEDULE_INTERLEAVED ||
                                    schedule->kind == MS_SCHEDULE_INTERLEAVED_FLEXIBLE);
}

/* Whether a schedule interleaves on a single pipeline rank. */
static bool interleaves_one_rank(const ms_job_spec *spec, const ms_model_layout *layout) {
    return is_interleaved(spec) && layout->pp < 2;
}

/* Whether a schedule interleaves on fewer than three pipeline ranks with sends that block. */
static bool interleaves_two_blocking(const ms_job_spec *spec, const ms_model_layout *layout) {
    return is_interleaved(spec) && layout->pp < 3 && spec->schedule.sends == MS_SENDS_BLOCKING;
}

/* Whether gathers of parameters are overlapped and reductions of gradients are not. */
static bool gathers_without_reducing(const ms_job_spec *spec, const ms_model_layout *layout) {
    return layout->zero > 0 && spec->choices.has_gather_overlap &&
           !spec->choices.has_reduce_overlap;
}

/* Whether the sequence cannot be cut in two parts for each cp rank. */
static bool has_odd_context(const ms_job_spec *spec, const ms_model_layout *layout) {
    return layout->cp > 1 && spec->model.sequence % (2 * layout->cp) != 0;
}

/* Whether ZeRO 2 or 3 is used with several pipeline ranks. */
static bool shards_gradients_of_stages(const ms_job_spec *spec, const ms_model_layout *layout) {
    (void)spec;
    return layout->pp > 1 && layout->zero >= 2;
}

/* Whether a schedule kind for several virtual stages per rank has one virtual stage per rank. */
static bool loops_one_stage(const ms_job_spec *spec, const ms_model_layout *layout) {
    const ms_spec_schedule *schedule = &spec->schedule;
    return layout->pp > 1 && schedule->kind != MS_SCHEDULE_CUSTOM && schedule->chunks == 1 &&
           ms_schedule_kind_traits(schedule->kind).chunks == 0;
}

/* One refusal: the profiles that it applies to, its condition, and its message. */
typedef struct refusal {
    const char *const *frameworks;
    bool (*holds)(const ms_job_spec *spec, const ms_model_layout *layout);
    const char *key;  /* key to change */
    const char *text; /* the refused combination, and values that are accepted */
} refusal;

static const refusal REFUSALS[] = {
    /* Source: Megatron-LM, core 0.15, megatron/core/transformer/moe/moe_layer.py
     * (MoELayer.forward); with ep > 1 also megatron/core/model_parallel_config.py. */
    {MEGATRON_CORE, has_experts_without_sequence, "tensor_parallel.sequence",
     "experts with 'mesh.tp' above 1 and no sequence parallelism; expected "
     "'tensor_parallel.sequence: true'"},
    /* Source: Megatron-LM, core 0.15, megatron/training/arguments.py (validate_args): "When
     * interleaved schedule is used, pipeline-model-parallel size should be greater than 1". */
    {MEGATRON_CORE, interleaves_one_rank, "schedule.v",
     "an interleaved schedule with 'mesh.pp' of 1; expected more pipeline ranks, or 1f1b"},
    /* Source: validate_args, as above: "greater than 2" where communication between stages is not
     * overlapped. */
    {MEGATRON_CORE, interleaves_two_blocking, "schedule.sends",
     "an interleaved schedule of two pipeline ranks with blocking sends; expected 'schedule.sends: "
     "async', or 'mesh.pp' above 2"},
    /* Source: validate_args, as above: "Must use --overlap-param-gather with
     * --overlap-grad-reduce". */
    {MEGATRON_CORE, gathers_without_reducing, "data_parallel.overlap_gather",
     "an overlapped gathering of parameters without 'data_parallel.overlap_reduce'; expected both, "
     "or 'data_parallel.overlap_gather: false'"},
    /* Source: validate_args, as above: "seq-length should be a multiple of 2 *
     * context-parallel-size". */
    {MEGATRON_CORE, has_odd_context, "model.sequence",
     "a sequence that is no multiple of twice 'mesh.cp'"},
    /* Source: Megatron-LM 3.0, megatron/arguments.py (validate_args): "pipeline-model-parallel size
     * should be greater than 2 with interleaved schedule". */
    {MEGATRON_LM, interleaves_two_blocking, "schedule.v",
     "an interleaved schedule of fewer than three pipeline ranks; expected 'mesh.pp' above 2, or "
     "1f1b"},
    {MEGATRON_LM, interleaves_one_rank, "schedule.v",
     "an interleaved schedule with 'mesh.pp' of 1; expected more pipeline ranks, or 1f1b"},
    /* Source: DeepSpeed 0.6 to 0.16, deepspeed/runtime/pipe/engine.py (PipelineEngine.__init__):
     * "ZeRO-2 and ZeRO-3 are incompatible with pipeline parallelism". */
    {DEEPSPEED, shards_gradients_of_stages, "data_parallel.zero",
     "'data_parallel.zero' of 2 or 3 with 'mesh.pp' above 1; expected 'data_parallel.zero' of 0 or "
     "1"},
    /* Source: torchtitan at commit 02ef790c, torchtitan/distributed/pipeline_parallel.py
     * (pipeline_llm): "Multi-stage schedule requires at least 2 stages per rank". */
    {TORCHTITAN, loops_one_stage, "schedule.v",
     "a schedule of several stages per rank with 'schedule.v' of 1; expected 2 or more, or 1f1b"},
};

/* Whether a refusal applies to a profile. */
static bool is_of(const refusal *row, const char *framework) {
    for (const char *const *name = row->frameworks; *name != NULL; name++) {
        if (strcmp(*name, framework) == 0) {
            return true;
        }
    }
    return false;
}

/* Report every row of REFUSALS that applies to the spec's framework and holds for the job. */
ms_status ms_spec_check_refusals(const ms_job_spec *spec, const ms_model_layout *layout,
                                 ms_diag *diag) {
    const char *framework = spec->framework.name;
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof REFUSALS / sizeof REFUSALS[0] && framework != NULL; i++) {
        const refusal *row = &REFUSALS[i];
        if (spec->has_model && is_of(row, framework) && row->holds(spec, layout)) {
            status = ms_spec_fault(spec, diag, row->key, "'%s' refuses %s", framework, row->text);
        }
    }
    return status;
}
