/* meshsim report */
#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/stat.h>

#include "ms_run.h"

static char folder[64];

static const char *inside(const char *name) {
    static char paths[4][160];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void make_trace(void) {
    strcpy(folder, "/tmp/meshsim-report-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    ms_run_result made = MS_RUN("run", MS_SOURCE_DIR "/workloads/tiny.yaml", "-o", inside("t.h5"));
    cr_assert_eq(made.exit_code, 0, "%s", ms_run_err(&made));
    ms_run_release(&made);
}

static void remove_folder(void) {
    static const char *const NAMES[] = {"t.h5", "t.svg", "t.json", "bad.h5"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        unlink(inside(NAMES[i]));
    }
    cr_assert_eq(rmdir(folder), 0, "files are left in %s", folder);
}

Test(report_cmd, writes_a_picture_and_a_viewer_trace) {
    make_trace();
    static const char *const NAMES[] = {"t.svg", "t.json"};
    for (size_t i = 0; i < 2; i++) {
        struct stat facts;
        ms_run_result run = MS_RUN("report", inside("t.h5"), "-o", inside(NAMES[i]));
        cr_assert_eq(run.exit_code, 0, "%s", ms_run_err(&run));
        cr_assert_eq(run.out.length, 0U);
        cr_assert_eq(run.err.length, 0U);
        cr_assert_eq(stat(inside(NAMES[i]), &facts), 0);
        cr_assert_gt(facts.st_size, 1000);
        ms_run_release(&run);
    }
    remove_folder();
}

Test(report_cmd, several_traces_are_stacked) {
    make_trace();
    ms_run_result run = MS_RUN_IN(folder, "report", "t.h5", "t.h5", "t.h5", "-o", inside("t.svg"));
    cr_assert_eq(run.exit_code, 0, "%s", ms_run_err(&run));
    ms_run_release(&run);
    run = MS_RUN_IN(folder, "report", "t.h5", "t.h5", "-o", inside("t.json"));
    cr_assert_eq(run.exit_code, 2);
    cr_assert_not_null(strstr(ms_run_err(&run), "made of one run, got 2"));
    ms_run_release(&run);
    run = MS_RUN_IN(folder, "report", "t.h5", "bad.h5", "-o", "new.svg");
    cr_assert_eq(run.exit_code, 3);
    ms_run_release(&run);
    run = MS_RUN_IN(folder, "report", "a", "b", "c", "d", "e", "f", "g", "h", "i", "-o", "x.svg");
    cr_assert_eq(run.exit_code, 2);
    cr_assert_not_null(strstr(ms_run_err(&run), "at most 8 traces"));
    ms_run_release(&run);
    remove_folder();
}

Test(report_cmd, faults_have_their_exit_codes) {
    make_trace();
    FILE *bad = fopen(inside("bad.h5"), "w");
    cr_assert_not_null(bad);
    fputs("no trace", bad);
    fclose(bad);
    const struct {
        const char *trace;
        const char *output;
        int exit_code;
        const char *cause;
    } CASES[] = {
        {inside("bad.h5"), "/tmp/x.svg", 3, "no HDF5 file"},
        {"/none.h5", "/tmp/x.svg", 3, "No such file"},
        {"t.h5", "/none/x.svg", 4, "No such file"},
        {"t.h5", "x.jpg", 2, "expected a name in .html, .svg, .png, .pdf, .json or .json.gz"},
        {"t.h5", "x.picture", 2, "must end in .html, .svg, .png, .pdf, .json or .json.gz"},
        {inside("bad.h5"), "/tmp/x.html", 3, "no HDF5 file"},
        {"t.h5", "/none/x.html", 4, "No such file"},
        {"t.h5", "/tmp", 2, "must end in"},
        {"t.h5", "a.bmp", 2, "must end in"},
        {"t.h5", "svg", 2, "must end in"},
        {"t.h5", "json.gz", 2, "a compressed file, which no command writes"},
        {"t.h5", "a.svg.gz", 2, "a compressed file, which no command writes"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        ms_run_result run = MS_RUN_IN(folder, "report", CASES[i].trace, "-o", CASES[i].output);
        cr_assert_eq(run.exit_code, CASES[i].exit_code, "case %zu: %d, %s", i, run.exit_code,
                     ms_run_err(&run));
        cr_assert_not_null(strstr(ms_run_err(&run), CASES[i].cause), "%s", ms_run_err(&run));
        ms_run_release(&run);
    }
    ms_run_result none = MS_RUN_IN(folder, "report", "t.h5");
    cr_assert_eq(none.exit_code, 2);
    cr_assert_not_null(strstr(ms_run_err(&none), "no output given"));
    ms_run_release(&none);
    remove_folder();
}
