/* Platforms named in a workload are found beside the program, wherever it is installed. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ms_run.h"

static char root[] = "/tmp/meshsim-data-XXXXXX";

static const char *in_root(const char *path) {
    static char text[128];
    snprintf(text, sizeof text, "%s/%s", root, path);
    return text;
}

/* Copy the program to ROOT/bin; a link would be followed to the build folder. */
static void install_program(void) {
    char command[512];
    cr_assert_eq(mkdir(in_root("bin"), 0755), 0);
    snprintf(command, sizeof command, "cp '%s/meshsim' %s/bin/meshsim", MS_BINARY_DIR, root);
    cr_assert_eq(system(command), 0);
    snprintf(command, sizeof command, "cp '%s/workloads/tiny.yaml' %s/bin/w.yaml", MS_SOURCE_DIR,
             root);
    cr_assert_eq(system(command), 0);
}

static int check_there(void) {
    char command[512];
    snprintf(command, sizeof command,
             "cd / && %s/bin/meshsim check %s/bin/w.yaml --effective >%s/out 2>&1", root, root,
             root);
    int state = system(command);
    cr_assert(WIFEXITED(state));
    return WEXITSTATUS(state);
}

/* The path that values are said to come from has no way up and down again in it. */
static void check_path(void) {
    char command[512];
    snprintf(command, sizeof command, "grep -q '# %s/share/meshsim/platforms/' %s/out", root, root);
    cr_assert_eq(system(command), 0);
}

Test(cli_data_folder, is_found_beside_the_program) {
    static const char *const PLACES[] = {"platforms", "share/meshsim/platforms"};
    cr_assert_not_null(mkdtemp(root));
    unsetenv("MESHSIM_DATA");
    install_program();
    char nowhere[128];
    snprintf(nowhere, sizeof nowhere, "%s/nowhere", root);
    setenv("MESHSIM_DATA", nowhere, 1);
    cr_assert_eq(check_there(), 3, "the environment comes first");
    unsetenv("MESHSIM_DATA");
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(mkdir(in_root("share"), 0755) + mkdir(in_root("share/meshsim"), 0755), 0);
        cr_assert_eq(symlink(MS_SOURCE_DIR "/platforms", in_root(PLACES[i])), 0);
        cr_assert_eq(check_there(), 0, "%s", PLACES[i]);
        if (i == 1) {
            check_path();
        }
        cr_assert_eq(unlink(in_root(PLACES[i])), 0);
        cr_assert_eq(rmdir(in_root("share/meshsim")) + rmdir(in_root("share")), 0);
    }
    unlink(in_root("bin/meshsim"));
    unlink(in_root("bin/w.yaml"));
    unlink(in_root("out"));
    cr_assert_eq(rmdir(in_root("bin")) + rmdir(root), 0);
}

/* Without a file of that name here, a workload's name is one of those that come with meshsim. */
Test(cli_data_folder, workloads_have_names) {
    setenv("MESHSIM_DATA", MS_SOURCE_DIR, 1);
    ms_run_result by_path = MS_RUN("check", MS_SOURCE_DIR "/workloads/tiny.yaml");
    ms_run_result by_name = MS_RUN("check", "tiny");
    cr_assert_eq(by_name.exit_code, 0, "%s", ms_run_err(&by_name));
    cr_assert_str_eq(ms_run_out(&by_name), ms_run_out(&by_path));
    ms_run_result near = MS_RUN("check", "tinny");
    cr_assert_eq(near.exit_code, 3);
    cr_assert_not_null(strstr(ms_run_err(&near), "no workload 'tinny'; looked for '"));
    cr_assert_not_null(strstr(ms_run_err(&near), "; did you mean 'tiny'?"));
    ms_run_result file = MS_RUN("check", "nowhere.yaml");
    cr_assert_eq(file.exit_code, 3);
    cr_assert_not_null(strstr(ms_run_err(&file), "nowhere.yaml: error: no such file"));
    ms_run_release(&by_path);
    ms_run_release(&by_name);
    ms_run_release(&near);
    ms_run_release(&file);
}
