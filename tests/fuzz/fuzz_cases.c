/* libFuzzer target: any bytes as a file of measured runs. What is refused is explained; of what is
 * read every case has a job or a reason for none, and a job that is laid out says what it refuses.
 */
#include <string.h>

#include "fuzz_target.h"
#include "meshsim/cases.h"

/* Larger jobs are not laid out: that is slow, not wrong. */
enum { RANKS_MAX = 1024, ACTIONS_MAX = 4000, CASES_MAX = 8 };

static bool is_small(const ms_job_spec *spec, int gpus) {
    long microbatches = spec->batch.global / spec->batch.micro;
    long stages = 1;
    for (int axis = 0; axis < spec->mesh.axes; axis++) {
        bool is_pp = strcmp(spec->mesh.names[axis], "pp") == 0;
        stages *= is_pp ? spec->mesh.sizes[axis] : 1;
    }
    stages *= spec->schedule.chunks > 0 ? spec->schedule.chunks : 1;
    return gpus <= RANKS_MAX && microbatches <= ACTIONS_MAX && microbatches * stages <= ACTIONS_MAX;
}

static void translate(ms_case_rules *rules, const ms_case *c, ms_arena *arena, ms_diag *diag) {
    ms_case_job job;
    ms_job_layout layout;
    if (c->own.workload != NULL) {
        return; /* a path, to any file: those are fuzzed on their own */
    }
    require(c->id != NULL && c->group != NULL);
    require(ms_case_translate(rules, c, &job) == MS_OK);
    require(diag->errors == 0);
    require(job.framework != NULL && job.differs != NULL);
    if (job.reason == NULL && is_small(&job.spec, c->gpus)) {
        ms_status status = ms_job_lay_out(&job.spec, arena, diag, &layout);
        require((status == MS_OK) == (diag->errors == 0));
        diag->errors = 0;
    }
}

static void read_all(const ms_text *text, ms_arena *arena, ms_measurements *found) {
    ms_diag diag;
    ms_diag_init(&diag, discard, NULL);
    ms_status status = ms_measurements_parse(text, arena, &diag, found);
    require(status == MS_OK || status == MS_E_INPUT);
    require((status == MS_OK) == (diag.errors == 0));
    ms_case_rules *rules = ms_case_rules_new(MS_SOURCE_DIR, arena, &diag);
    for (size_t i = 0; i < found->cases.count && i < CASES_MAX && status == MS_OK; i++) {
        translate(rules, &MS_AT(&found->cases, ms_case, i), arena, &diag);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ms_arena arena;
    ms_measurements found;
    ms_arena_init(&arena);
    ms_measurements_init(&found);
    const char *copy = ms_arena_strndup(&arena, (const char *)data, size);
    bool is_table = strncmp(copy, "gpu,", 4) == 0 || strncmp(copy, "# GPUs,", 7) == 0 ||
                    strncmp(copy, "id,", 3) == 0;
    const ms_text text = {is_table ? "fuzz.csv" : "fuzz.yaml", copy, size};
    read_all(&text, &arena, &found);
    ms_measurements_release(&found);
    ms_arena_release(&arena);
    return 0;
}
