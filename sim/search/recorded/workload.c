/* The job of a workload that a table of measured steps belongs to: its schedule and layers, before
 * and after the changes of --set. Without a workload a model of equal layers stands for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search/recorded/change.h"

/* Layers of a virtual stage where nothing says how many there are: many numbers of chunks divide
 * it. */
enum { LAYERS = 24 };

bool ms_recorded_has_order(const ms_recorded *job, const ms_program *program) {
    static const uint8_t PASSES[] = {MS_PASS_F, MS_PASS_B, MS_PASS_I, MS_PASS_W};
    for (int s = 0; s < job->stages; s++) {
        size_t next = program->first[s];
        for (int n = job->first[s]; n < job->first[s + 1]; n++) {
            const ms_recorded_node *node = &job->nodes[n];
            if (!ms_recorded_is_pass(node->kind)) {
                continue;
            }
            const ms_action *action = &program->actions[next];
            if (next++ == program->first[s + 1] || action->pass != PASSES[node->kind] ||
                action->stage != node->gmc || (node->mb >= 0 && action->mb != node->mb)) {
                return false;
            }
        }
        if (next != program->first[s + 1]) {
            return false;
        }
    }
    return true;
}

ms_schedule_spec ms_recorded_schedule(const ms_recorded *job, ms_arena *arena) {
    ms_diag mute;
    ms_diag_init_mute(&mute);
    int chunks = job->model_stages / job->stages;
    for (int i = 0; i < 2 * MS_SCHEDULE_KIND_COUNT; i++) { /* twice: with one or two directions */
        ms_schedule_kind kind = (i / 2 + MS_SCHEDULE_1F1B) % MS_SCHEDULE_KIND_COUNT;
        int needed = ms_schedule_kind_traits(kind).chunks;
        const ms_schedule_spec spec = {.kind = kind,
                                       .pipeline_ranks = job->stages,
                                       .chunks = needed > 0 ? needed : chunks,
                                       .microbatches = job->microbatches * (i % 2 + 1)};
        ms_program program;
        if (ms_schedule_build(&spec, arena, &mute, &program) == MS_OK &&
            program.stages == job->model_stages && program.mb_count == job->microbatches &&
            ms_recorded_has_order(job, &program)) {
            return spec;
        }
    }
    return (ms_schedule_spec){
        .kind = MS_SCHEDULE_CUSTOM, .chunks = chunks, .microbatches = job->microbatches};
}

/* Check that a workload is the job of the table. */
static ms_status check_workload(const ms_recorded *job, const ms_job *workload, ms_diag *diag) {
    int dp = ms_mesh_size(&workload->mesh, MS_AXIS_DP);
    if (dp != job->dp || workload->layout.pp != job->stages ||
        workload->program.stages != job->model_stages ||
        workload->program.mb_count != job->microbatches) {
        return ms_diag_error(diag,
                             "'%s' has dp %d, pp %d, %d virtual stages and %d microbatches; the "
                             "workload has others",
                             job->path, job->dp, job->stages, job->model_stages, job->microbatches);
    }
    if (!ms_recorded_has_order(job, &workload->program)) {
        return ms_diag_error(diag, "the passes of '%s' are not in the order of the schedule '%s'",
                             job->path, workload->program.name);
    }
    return MS_OK;
}

/* Write a workload with the mesh, microbatches and schedule of a table, and equal layers.  sets:
 * overrides; a list of layers among them says how many there are.  Returns NULL when memory runs
 * out. */
static const char *make_workload(const ms_recorded *job, const ms_words *sets, ms_arena *arena) {
    static const char KEY[] = "schedule.stage_layers=[";
    ms_schedule_spec spec = ms_recorded_schedule(job, arena);
    bool is_known = spec.kind != MS_SCHEDULE_CUSTOM;
    long layers = 0;
    for (size_t i = 0; i < sets->count; i++) {
        const char *at = strncmp(sets->items[i], KEY, sizeof KEY - 1) == 0
                             ? sets->items[i] + sizeof KEY - 1
                             : "";
        for (char *end = NULL; *at != '\0'; at = *end == '\0' ? end : end + 1) {
            layers += strtol(at, &end, 10);
        }
    }
    return ms_arena_printf(arena,
                           "name: measured\nplatform: {file: ideal, nodes: %d}\n"
                           "mesh: {pp: %d, dp: %d}\nbatch: {micro: 1, microbatches: %d}\n"
                           "schedule: {kind: %s, v: %d}\nframework: none\n"
                           "model: {type: gpt, layers: %ld, hidden: 64, heads: 1, vocab: 64, "
                           "sequence: 64}\n",
                           job->stages * job->dp, job->stages, job->dp, spec.microbatches,
                           is_known           ? ms_schedule_kind_name(spec.kind)
                           : spec.chunks == 1 ? "1f1b"
                                              : "looped_bfs",
                           spec.chunks, layers > 0 ? layers : (long)job->model_stages * LAYERS);
}

ms_status ms_recorded_load_jobs(const ms_recorded *job, const ms_recorded_whatif *request,
                                ms_arena *arena, ms_diag *diag, ms_job *jobs_out[2]) {
    ms_job_request load = {
        .workload = request->workload == NULL ? "measured" : request->workload,
        .text = request->workload == NULL ? make_workload(job, &request->sets, arena) : NULL,
        .data_folder = request->data_folder};
    ms_status status = MS_OK;
    for (int i = 0; i < 2 && status == MS_OK; i++) {
        load.sets = request->sets.items;
        load.set_count = i == 0 ? 0 : request->sets.count;
        jobs_out[i] = MS_NEW(arena, ms_job, 1);
        status = jobs_out[i] == NULL ? ms_diag_no_memory(diag)
                                     : ms_job_load(&load, arena, diag, jobs_out[i]);
    }
    return status == MS_OK && request->workload != NULL ? check_workload(job, jobs_out[0], diag)
                                                        : status;
}
