/* Communication libraries: what is read of their files, and what is refused. */
#include <stdlib.h>
#include <unistd.h>

#include "platform_fixture.h"

Test(library, figures_are_in_seconds_and_bytes) {
    platform_fixture f;
    const ms_library *library = fixture_platform(&f, "dgx-a100", NULL)->library;
    cr_assert_str_eq(library->name, "nccl-2");
    cr_assert_eq(library->base_s[MS_LIBRARY_RING][MS_LIBRARY_LL], 6.6e-6);
    cr_assert_eq(library->net_s[MS_LIBRARY_NVLS_TREE][MS_LIBRARY_SIMPLE], 20.9e-6);
    cr_assert_eq(library->tree_correction[MS_LIBRARY_LL128][4], 1.0);
    cr_assert_eq(library->tree_correction[MS_LIBRARY_LL128][5], 0.9);
    const ms_library_generation *ampere = &library->generations[MS_GENERATION_AMPERE];
    cr_assert_eq(ampere->ll_Bps[1], 22.5e9);
    cr_assert_eq(ampere->ramp.half_B, 0x1p28);
    cr_assert_float_eq(ms_library_ramp_s(&ampere->ramp, 0x1p28), 80e-6, 1e-15);
    cr_assert_eq(ms_library_ramp_s(&ampere->ramp, 0.0), 0.0);
    fixture_release(&f);
}

/* The shipped file with one text in place of another. */
static void write_variant(const char *path, const char *text, const char *instead) {
    ms_diag diag;
    ms_buffer file;
    ms_diag_init(&diag, NULL, NULL);
    ms_buffer_init(&file);
    cr_assert_eq(
        ms_file_read(MS_SOURCE_DIR "/platforms/libraries/nccl-2.yaml", MS_FILE_YAML, &file, &diag),
        MS_OK);
    char *at = strstr(ms_buffer_text(&file), text);
    cr_assert_not_null(at, "%s", text);
    FILE *out = fopen(path, "w");
    cr_assert_not_null(out);
    fprintf(out, "%.*s%s%s", (int)(at - ms_buffer_text(&file)), ms_buffer_text(&file), instead,
            at + strlen(text));
    cr_assert_eq(fclose(out), 0);
    ms_buffer_release(&file);
}

Test(library, faults) {
    static const struct {
        const char *text, *instead, *says;
    } CASES[] = {
        {"ring:      [6.6 us, 14 us, 8.4 us]", "ring: [6.6 us, 14 us]",
         "base_latency.ring: expected 3 values, got 2"},
        {"ring:      [6.6 us, 14 us, 8.4 us]", "ring: [6.6, 14, 8.4]", "expected a unit"},
        {"net_overhead: [1 us, 2 us]", "net_overhead: [1 us]", "expected 2 values, got 1"},
        {"  volta:", "  kepler:", "required key is missing: 'volta'"},
        {"channels: 12", "channels: 0", "generations.volta.channels"},
        {"ll:     [1, 1, ", "ll: [1, ", "tree_correction: expected 23 values, got 22"},
        {"name: nccl-2", "name: nccl-2\ncolour: red", "colour: unknown key"},
    };
    char folder[] = "/tmp/meshsim-library-XXXXXX";
    char path[64], overrides[96];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/own.yaml", folder);
    snprintf(overrides, sizeof overrides, "{library: %s}", path);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        platform_fixture f;
        write_variant(path, CASES[i].text, CASES[i].instead);
        fixture_init(&f);
        cr_assert_eq(fixture_load(&f, "dgx-a100", overrides), MS_E_INPUT, "case %zu", i);
        cr_assert_not_null(strstr(ms_buffer_text(&f.messages), CASES[i].says), "case %zu: %s", i,
                           ms_buffer_text(&f.messages));
        fixture_release(&f);
    }
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(rmdir(folder), 0);
}

/* Keys of a library that a platform changes, over the file that it names or that its own file
 * names. */
Test(library, a_platform_changes_keys) {
    static const char *const CHANGES[] = {
        "{library: {generations: {ampere: {overhead: 5 us}}}}",
        "{library: {file: nccl-2, generations: {ampere: {overhead: 5 us}}}}"};
    for (size_t i = 0; i < sizeof CHANGES / sizeof CHANGES[0]; i++) {
        platform_fixture f;
        const ms_library *library = fixture_platform(&f, "dgx-a100", CHANGES[i])->library;
        cr_assert_str_eq(library->name, "nccl-2");
        const ms_library_generation *ampere = &library->generations[MS_GENERATION_AMPERE];
        cr_assert_float_eq(ampere->overhead_s, 5e-6, 1e-18);
        cr_assert_eq(ampere->channels, 12);
        fixture_release(&f);
    }
    static const struct {
        const char *changes, *says;
    } BAD[] = {{"{library: {generations: {ampere: {overhaed: 5 us}}}}", "did you mean 'overhead'"},
               {"{library: {file: [a]}}", "expected the name of a file in libraries/"},
               {"{library: {file: nccl-3}}", "no library 'nccl-3'"}};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        platform_fixture f;
        fixture_init(&f);
        cr_assert_eq(fixture_load(&f, "dgx-a100", BAD[i].changes), MS_E_INPUT, "case %zu", i);
        cr_assert_not_null(strstr(ms_buffer_text(&f.messages), BAD[i].says), "case %zu: %s", i,
                           ms_buffer_text(&f.messages));
        fixture_release(&f);
    }
}
