#include "cli/show_job.h"

ms_value *ms_show_add_job(const ms_job *job, ms_value *root) {
    const ms_platform *platform = job->platform;
    ms_value *page = ms_value_add(root, "page", MS_VALUE_OBJECT);
    if (job->spec.framework.name != NULL) {
        ms_value_add_string(page, "framework", job->spec.framework.name);
    }
    const char *nodes = ms_arena_printf(root->arena, "%d x %d %s", platform->nodes,
                                        platform->gpus_per_node, platform->gpu.name);
    ms_value_add_string(page, "nodes", nodes);
    ms_value_add_int(page, "stages", job->program.model_stages);
    if (job->program.parameter_replicas > 1) {
        ms_value_add_int(page, "replicas", job->program.parameter_replicas);
    }
    if (job->spec.has_model) {
        ms_value_add_int(page, "micro_batch", job->layout.micro_batch);
    }
    if (job->spec.simulation.steps > 1) {
        ms_value_add_string(page, "updates",
                            ms_job_is_validated_late(job) ? "validated afterwards"
                                                          : "all ranks meet before they update");
    }
    return page;
}
