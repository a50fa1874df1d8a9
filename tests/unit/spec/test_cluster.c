/* Specs on other clusters than those they were read with. */
#include <criterion/criterion.h>
#include <string.h>

#include "spec_fixture.h"

static const char TEXT[] = "platform: {file: dgx-a100, nodes: 1}\n"
                           "model: {type: gpt, layers: 4, hidden: 64, heads: 4, vocab: 128, "
                           "sequence: 64}\n"
                           "mesh: {dp: 8}\n"
                           "batch: {global: 8}\n";

Test(cluster, a_spec_on_another_one_keeps_the_rest) {
    spec_fixture f;
    spec_fixture_init(&f);
    const ms_job_spec spec = spec_fixture_read_text(&f, TEXT);
    ms_job_spec other = ms_job_spec_derive(&spec);
    const ms_spec_cluster cluster = {.file = "dgx-h100",
                                     .gpu_type = "h200-sxm5-141gb",
                                     .nodes = 3,
                                     .data_folder = MS_SOURCE_DIR};
    cr_assert_eq(ms_spec_set_cluster(&other, &cluster, &f.arena, &f.diag), MS_OK);
    const ms_platform *found = other.platform.cluster;
    cr_assert_str_eq(found->name, "dgx-h100");
    cr_assert_str_eq(found->gpu.name, "h200-sxm5-141gb");
    cr_assert_float_eq(found->gpu.hbm_B, 141e9, 1);
    cr_assert_eq(found->nodes, 3);
    cr_assert_eq(spec.platform.cluster->nodes, 1);
    ms_job_spec same = other;
    same.platform = spec.platform;
    cr_assert(ms_job_spec_is_equal(&same, &spec));
    cr_assert_not(ms_job_spec_is_equal(&other, &spec));
    spec_fixture_release(&f);
}

Test(cluster, one_that_cannot_be_loaded_changes_nothing) {
    static const ms_spec_cluster BAD[] = {
        {.file = "no-such-platform", .nodes = 1, .data_folder = MS_SOURCE_DIR},
        {.file = "dgx-h100", .gpu_type = "no-such-gpu", .nodes = 1, .data_folder = MS_SOURCE_DIR},
        {.file = "dgx-h100", .nodes = 0, .data_folder = MS_SOURCE_DIR}};
    spec_fixture f;
    spec_fixture_init(&f);
    const ms_job_spec spec = spec_fixture_read_text(&f, TEXT);
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        ms_job_spec other = spec;
        cr_assert_eq(ms_spec_set_cluster(&other, &BAD[i], &f.arena, &f.diag), MS_E_INPUT, "%zu", i);
        cr_assert_eq(memcmp(&other, &spec, sizeof spec), 0, "%zu", i);
        cr_assert_gt(f.diag.errors, (int)i);
    }
    spec_fixture_release(&f);
}

Test(cluster, its_keys_can_be_overridden) {
    spec_fixture f;
    spec_fixture_init(&f);
    ms_job_spec spec = spec_fixture_read_text(&f, TEXT);
    const char *sets[] = {"gpu.kernel_launch=7 us", "tiers.rail.efficiency=0.5", "library=none"};
    const ms_words list = {sets, 3};
    ms_spec_cluster cluster = {
        .file = "dgx-h100", .nodes = 2, .sets = &list, .data_folder = MS_SOURCE_DIR};
    cr_assert_eq(ms_spec_set_cluster(&spec, &cluster, &f.arena, &f.diag), MS_OK);
    const ms_platform *found = spec.platform.cluster;
    cr_assert_float_eq(found->gpu.kernel_launch_s, 7e-6, 1e-18);
    cr_assert_eq(found->tiers[1].efficiency, 0.5);
    cr_assert_null(found->library);
    cr_assert_eq(found->nodes, 2);
    sets[1] = "tiers.rial.efficiency=0.5";
    cr_assert_eq(ms_spec_set_cluster(&spec, &cluster, &f.arena, &f.diag), MS_E_INPUT);
    cr_assert_eq(spec.platform.cluster, found);
    spec_fixture_release(&f);
}
