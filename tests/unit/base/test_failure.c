/* Failures of the system are told from faults of a file, and go before them. */
#include <criterion/criterion.h>
#include <errno.h>

#include "base/failure.h"

Test(failure, what_says_something_of_the_file_is_none) {
    size_t before = ms_failure_count();
    ms_failure_note_file("a.yaml", ENOENT);
    ms_failure_note_file("a.yaml", EACCES);
    cr_assert_not(ms_file_is_there("/nonexistent/a.yaml"));
    cr_assert(ms_file_is_there("/"));
    cr_assert_eq(ms_failure_count(), before);
    cr_assert_eq(ms_failure_since(before, MS_E_INPUT), MS_E_INPUT);
}

Test(failure, goes_before_faults_and_results_but_not_before_another) {
    size_t before = ms_failure_count();
    ms_failure_note_file("a.yaml", EIO);
    cr_assert_str_eq(ms_failure_text(), "cannot read 'a.yaml': Input/output error");
    cr_assert_eq(ms_failure_since(before, MS_OK), MS_E_IO);
    cr_assert_eq(ms_failure_since(before, MS_E_INPUT), MS_E_IO);
    cr_assert_eq(ms_failure_since(before, MS_E_NOMEM), MS_E_NOMEM);
    cr_assert_eq(ms_failure_since(before, MS_E_INTERRUPTED), MS_E_INTERRUPTED);
    before = ms_failure_count();
    cr_assert_eq(ms_failure_since(before, MS_E_INPUT), MS_E_INPUT, "it was before");
    ms_failure_note_file("a.yaml", ENOMEM);
    cr_assert_eq(ms_failure_since(before, MS_OK), MS_E_NOMEM);
    cr_assert_str_eq(ms_failure_text(), "out of memory");
}
