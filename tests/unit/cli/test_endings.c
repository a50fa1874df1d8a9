/* Output files whose names end like another format are refused, with what writes that. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "ms_run.h"

#define TINY    MS_SOURCE_DIR "/workloads/tiny.yaml"
#define PICTURE "' is a name for a picture; "

typedef struct ending_case {
    const char *arguments[10];
    const char *words;
} ending_case;

static const ending_case REFUSED[] = {
    {{"run", TINY, "-o", "x.svg"}, "'x.svg" PICTURE "'meshsim report TRACE.h5 -o x.svg' draws it"},
    {{"run", TINY, "-o", "a.b/x.SVG"}, "'a.b/x.SVG" PICTURE},
    {{"run", TINY, "-o", "x.json"}, "'meshsim report TRACE.h5 -o x.json' writes a viewer's trace"},
    {{"run", TINY, "-o", "x.csv"}, "--csv x.csv' writes a schedule"},
    {{"run", TINY, "-o", "x.png"}, "-o x.png' draws it"},
    {{"run", TINY, "-o", "x.jpg"}, "which no command writes"},
    {{"run", TINY, "-o", "x.txt"}, "is a name for text"},
    {{"run", TINY, "-o", "x.yaml"}, "'x.yaml' is a name for an input file"},
    {{"report", "x.h5", "-o", "y.h5"}, "'meshsim run WORKLOAD.yaml -o y.h5' writes it"},
    {{"run", TINY, "-o", "y.html"}, "'meshsim report TRACE.h5 -o y.html' makes it"},
    {{"schedule", "1f1b", "-p", "2", "-m", "4", "--csv", "x.svg"}, "'--gantt x.svg' writes it"},
    {{"schedule", "1f1b", "-p", "2", "-m", "4", "--gantt", "x.csv"}, "'--csv x.csv' writes it"},
    {{"schedule", "1f1b", "-p", "2", "-m", "4", "--gantt", "x.h5"}, "is a name for a trace"},
    {{"schedule", "--compare", "all", "--workload", TINY, "--traces", "x.h5"},
     "option '--traces' writes a folder"},
    {{"schedule", "--compare", "all", "-p", "2", "-m", "4", "--csv-table", "x.svg"},
     "option '--csv-table' writes a table or text"},
    {{"compare", "a.h5", "b.h5", "--junit", "x.yaml"}, "expected a name in .xml"},
    {{"platform", "flat", "--dot", "x.svg"}, "'--svg x.svg' writes it"},
    {{"platform", "flat", "--svg", "x.gv"}, "'--dot x.gv' writes it"},
    {{"platform", "flat", "--simgrid-xml", "x.h5"}, "option '--simgrid-xml' writes XML"},
};

static ms_run_result run_case(const char *folder, const ending_case *c) {
    const char *words[12] = {NULL};
    memcpy(words, c->arguments, sizeof c->arguments);
    return ms_run_with(&(ms_run_setup){.cwd = folder}, words);
}

Test(endings, of_another_format_are_refused) {
    char folder[] = "/tmp/meshsim-endings-XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof REFUSED / sizeof REFUSED[0]; i++) {
        ms_run_result result = run_case(folder, &REFUSED[i]);
        cr_assert_eq(result.exit_code, 2, "case %zu: %d", i, result.exit_code);
        cr_assert_not_null(strstr(ms_run_err(&result), REFUSED[i].words), "case %zu: %s", i,
                           ms_run_err(&result));
        cr_assert_eq(result.out.length, 0U, "case %zu", i);
        ms_run_release(&result);
    }
    cr_assert_eq(rmdir(folder), 0, "something was written");
}

Test(endings, that_say_nothing_else_are_taken) {
    static const ending_case TAKEN[] = {
        {{"run", TINY, "-o", "x.hdf5"}, "x.hdf5"},
        {{"run", TINY, "-o", "x.trace"}, "x.trace"},
        {{"run", TINY, "-o", "x"}, "x"},
        {{"schedule", "1f1b", "-p", "2", "-m", "4", "--csv", "x.txt"}, "x.txt"},
        {{"platform", MS_SOURCE_DIR "/platforms/flat.yaml", "--simgrid-xml", "x.xml"}, "x.xml"},
    };
    char folder[] = "/tmp/meshsim-endings-XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof TAKEN / sizeof TAKEN[0]; i++) {
        ms_run_result result = run_case(folder, &TAKEN[i]);
        cr_assert_eq(result.exit_code, 0, "case %zu: %s", i, ms_run_err(&result));
        char path[64];
        snprintf(path, sizeof path, "%s/%s", folder, TAKEN[i].words);
        cr_assert_eq(unlink(path), 0, "case %zu", i);
        ms_run_release(&result);
    }
    cr_assert_eq(rmdir(folder), 0);
}
