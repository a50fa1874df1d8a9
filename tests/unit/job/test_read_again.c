/* A workload that is read again with overrides is the one that is read with them at once. */
#include "spec_equal.h"
#include "spec_fixture.h"

static ms_job_spec read_textbook(spec_fixture *f, const char *const *sets, size_t count) {
    return spec_fixture_read(f, "textbook-70b-64", sets, count);
}

/* The profile of megatron-lm-2021 has stages exchange tensors in tp shares, which one tp rank has
 * not. */
Test(spec_read_again, is_as_reading_with_all_overrides) {
    const char *sets[] = {
        "framework=megatron-lm-2021", "mesh.tp=1", "mesh.dp=8", "mesh.tp=4", "mesh.dp=2",
        "data_parallel.zero=1"};
    spec_fixture f;
    ms_job_spec again;
    spec_fixture_init(&f);
    const ms_job_spec base = read_textbook(&f, sets, 3);
    const ms_job_spec whole = read_textbook(&f, sets, 6);
    const ms_words more = {.items = &sets[3], .count = 3};
    cr_assert_not(base.choices.has_scatter_gather);
    cr_assert(whole.choices.has_scatter_gather);
    cr_assert_eq(ms_job_spec_read_again(&base, &more, &f.arena, &f.diag, &again), MS_OK, "%s",
                 ms_buffer_text(&f.messages));
    cr_assert(spec_is_equal(&again, &whole));
    cr_assert_eq(again.platform.cluster, base.platform.cluster);
    spec_fixture_release(&f);
}

Test(spec_read_again, faults_are_those_of_reading) {
    const char *wrong[] = {"mesh.tp=none"};
    const ms_words sets = {.items = wrong, .count = 1};
    spec_fixture f;
    ms_job_spec again;
    spec_fixture_init(&f);
    const ms_job_spec base = read_textbook(&f, NULL, 0);
    cr_assert_eq(ms_job_spec_read_again(&base, &sets, &f.arena, &f.diag, &again), MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&f.messages), "mesh.tp"));
    spec_fixture_release(&f);
}
