/* A file in the place of another: named for what it is, with the command that takes it. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "ms_run.h"

#define TINY MS_SOURCE_DIR "/workloads/tiny.yaml"
#define DGX  MS_SOURCE_DIR "/platforms/dgx-h100.yaml"
#define GPU  MS_SOURCE_DIR "/platforms/gpus/gb200.yaml"

typedef struct kind_case {
    const char *arguments[8];
    const char *words;
} kind_case;

static const kind_case MISTAKEN[] = {
    {{"run", DGX},
     "expected a workload, got a platform; 'meshsim run WORKLOAD.yaml --platform " DGX},
    {{"check", DGX, "--set", "mesh.tp=8"}, "expected a workload, got a platform"},
    {{"schedule", "1f1b", "--workload", DGX}, "expected a workload, got a platform"},
    {{"run", GPU}, "got a GPU type; 'meshsim platform PLATFORM.yaml --set platform.gpu.type=" GPU},
    {{"run", "t.h5"}, "got a trace; 'meshsim report t.h5 -o PICTURE.svg' draws it"},
    {{"check", "r.json"}, "expected a workload, got what --json printed"},
    {{"platform", TINY}, "expected a platform, got a workload; 'meshsim run " TINY "'"},
    {{"platform", "t.h5"}, "got a trace"},
    {{"check", TINY, "--platform", TINY}, "expected a platform, got a workload"},
    {{"collective", "all_reduce", "--platform", TINY}, "expected a platform, got a workload"},
    {{"mesh", "--shape", "tp=8", "--platform", GPU}, "expected a platform, got a GPU type"},
    {{"platform", DGX, "--set", "platform.gpu.type=" DGX}, "expected a GPU type, got a platform"},
    {{"report", TINY, "-o", "x.svg"},
     "it is a workload; 'meshsim run " TINY " -o TRACE.h5' writes"},
    {{"report", DGX, "-o", "x.svg"}, "it is a platform; 'meshsim platform " DGX "' shows it"},
    {{"report", "r.json", "-o", "x.html"},
     "expected a trace, or what 'meshsim validate --json' prints"},
    {{"compare", TINY, "t.h5"}, "it is a workload"},
    {{"search", TINY, "--space", DGX}, "expected a space, got a platform"},
    {{"search", TINY, "--space", TINY}, "expected a space, got a workload"},
    {{"run", "s.yaml"}, "got a space; 'meshsim search WORKLOAD.yaml --space s.yaml' searches it"},
    {{"schedule", "csv:t.h5"}, "expected a CSV file, got a trace"},
};

static void make_files(char *folder) {
    char command[512];
    cr_assert_not_null(mkdtemp(folder));
    ms_run_result run = MS_RUN_IN(folder, "run", TINY, "-o", "t.h5");
    cr_assert_eq(run.exit_code, 0, "%s", ms_run_err(&run));
    ms_run_release(&run);
    snprintf(command, sizeof command, "'%s/meshsim' run '%s' --json >%s/r.json", MS_BINARY_DIR,
             TINY, folder);
    cr_assert_eq(system(command), 0);
    snprintf(command, sizeof command, "echo '{gpus: [8], vary: {batch.micro: [1]}}' >%s/s.yaml",
             folder);
    cr_assert_eq(system(command), 0);
}

Test(input_kinds, are_told_apart) {
    char folder[] = "/tmp/meshsim-kinds-XXXXXX";
    make_files(folder);
    for (size_t i = 0; i < sizeof MISTAKEN / sizeof MISTAKEN[0]; i++) {
        const char *words[10] = {NULL};
        memcpy(words, MISTAKEN[i].arguments, sizeof MISTAKEN[i].arguments);
        ms_run_result result = ms_run_with(&(ms_run_setup){.cwd = folder}, words);
        const char *said = ms_run_err(&result);
        cr_assert_eq(result.exit_code, 3, "case %zu: %d: %s", i, result.exit_code, said);
        cr_assert_not_null(strstr(said, MISTAKEN[i].words), "case %zu: %s", i, said);
        const char *first = strstr(said, "error: ");
        cr_assert_null(strstr(first + 1, "error: "), "case %zu: one fault: %s", i, said);
        ms_run_release(&result);
    }
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert_eq(system(command), 0);
}

/* Faults of a file of the right kind are still told one by one. */
Test(input_kinds, own_faults_stay) {
    static const char *const SETS[] = {"step_time_s=3", "fabric={kind: flat}", "nodes=3"};
    for (size_t i = 0; i < sizeof SETS / sizeof SETS[0]; i++) {
        ms_run_result result = MS_RUN("check", TINY, "--set", SETS[i]);
        cr_assert_eq(result.exit_code, 3);
        cr_assert_not_null(strstr(ms_run_err(&result), "unknown key"), "%s", ms_run_err(&result));
        ms_run_release(&result);
    }
}
