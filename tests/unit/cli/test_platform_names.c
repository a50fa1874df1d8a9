/* A platform by its name: every command that takes one looks it up in the same places. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "ms_run.h"

/* A project of somebody's own, with platforms in all the places that a name is looked up in. */
static const char *const MADE[] = {"near/mine.yaml", "platforms/above.yaml",
                                   "elsewhere/platforms/current.yaml", "elsewhere/here.yaml"};
enum { MADE_COUNT = sizeof MADE / sizeof MADE[0] };

static void copy(const char *root, const char *from, const char *to) {
    char command[512];
    snprintf(command, sizeof command, "mkdir -p $(dirname %s/%s) && cp '%s/%s' %s/%s", root, to,
             MS_SOURCE_DIR, from, root, to);
    cr_assert_eq(system(command), 0);
}

static void make_project(char *root) {
    cr_assert_not_null(mkdtemp(root));
    for (int i = 0; i < MADE_COUNT; i++) {
        copy(root, "platforms/dgx-a100.yaml", MADE[i]);
    }
    copy(root, "workloads/tiny.yaml", "near/w.yaml");
}

static void remove_project(const char *root) {
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", root);
    cr_assert_eq(system(command), 0);
}

static void expect(const char *folder, int exit_code, const char *words,
                   const char *const *arguments) {
    ms_run_result result = ms_run_with(&(ms_run_setup){.cwd = folder}, arguments);
    cr_assert_eq(result.exit_code, exit_code, "%s %s: %s", arguments[0], arguments[1],
                 ms_run_err(&result));
    cr_assert_not_null(strstr(ms_run_err(&result), words), "no '%s' in %s", words,
                       ms_run_err(&result));
    ms_run_release(&result);
}

#define EXPECT(folder, code, words, ...)                                                           \
    expect(folder, code, words, (const char *const[]){__VA_ARGS__, NULL})

Test(platform_names, are_found_alike_by_every_command) {
    char root[] = "/tmp/meshsim-names-XXXXXX";
    static const char *const NAMES[] = {"mine",     "above",     "current",   "here",
                                        "dgx-a100", "here.yaml", "above.yaml"};
    make_project(root);
    char folder[64];
    snprintf(folder, sizeof folder, "%s/elsewhere", root);
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        const char *name = NAMES[i];
        EXPECT(folder, 0, "", "check", "../near/w.yaml", "--platform", name);
        EXPECT(folder, 0, "", "run", "../near/w.yaml", "--platform", name);
        EXPECT(folder, 0, "", "schedule", "1f1b", "--workload", "../near/w.yaml", "--platform",
               name);
        if (i == 0) {
            continue; /* beside the workload, which the others do not have */
        }
        EXPECT(folder, 0, "", "platform", name);
        EXPECT(folder, 0, "", "mesh", "--shape", "tp=8", "--order", "tp", "--platform", name);
        EXPECT(folder, 0, "", "collective", "p2p", "-e", "1MiB", "--platform", name);
    }
    remove_project(root);
}

Test(platform_names, of_a_workload_start_at_its_folder) {
    char root[] = "/tmp/meshsim-names-XXXXXX";
    make_project(root);
    char folder[64];
    snprintf(folder, sizeof folder, "%s/elsewhere", root);
    EXPECT(folder, 0, "", "check", "../near/w.yaml", "--set", "platform.file=mine");
    EXPECT(folder, 0, "", "check", "../near/w.yaml", "--set", "platform.file=mine.yaml");
    EXPECT(folder, 0, "", "check", "../near/w.yaml", "--set", "platform.file=above.yaml");
    EXPECT(folder, 0, "", "check", "../near/w.yaml", "--set", "platform.file=current");
    remove_project(root);
}

Test(platform_names, faults_tell_where_and_the_nearest) {
    char root[] = "/tmp/meshsim-names-XXXXXX";
    make_project(root);
    char folder[64];
    snprintf(folder, sizeof folder, "%s/elsewhere", root);
    EXPECT(folder, 3,
           "no platform 'currant'; looked for '../near/currant.yaml', "
           "'../near/../platforms/currant.yaml', './currant.yaml', 'platforms/currant.yaml', ",
           "check", "../near/w.yaml", "--platform", "currant");
    EXPECT(folder, 3, "did you mean 'current'?", "check", "../near/w.yaml", "--platform",
           "currant");
    EXPECT(folder, 3, "no platform 'currant'; looked for './currant.yaml', '../platforms/currant",
           "platform", "currant");
    EXPECT(folder, 3, "did you mean 'current'?", "platform", "currant.yaml");
    EXPECT(folder, 3,
           "no platform 'platforms/currant.yaml'; did you mean 'platforms/current.yaml'?",
           "platform", "platforms/currant.yaml");
    remove_project(root);
}
