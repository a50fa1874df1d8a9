/* Attention in fp8: what there is no kernel, no figure or no recipe for is refused at its key. */
#include "spec_fixture.h"

typedef struct refusal {
    const char *sets[4]; /* beside products in fp8 and cuDNN's attention of 8 heads of 128 */
    const char *format, *says;
} refusal;

static const char *const BASE[] = {"platform.file=dgx-h100", "precision.products=fp8",
                                   "model.attention=cudnn",  "model.hidden=1024",
                                   "model.heads=8",          "model.kv_heads=8"};
enum { BASES = sizeof BASE / sizeof BASE[0], SETS_MAX = BASES + 5 };

/* Read and lay tiny.yaml out.  Returns what laying out says; its messages are in the fixture. */
static ms_status lay_out(spec_fixture *f, const refusal *row) {
    const char *sets[SETS_MAX];
    size_t count = 0;
    for (; count < BASES; count++) {
        sets[count] = BASE[count];
    }
    for (size_t i = 0; i < 4 && row->sets[i] != NULL; i++) {
        sets[count++] = row->sets[i];
    }
    sets[count++] = ms_arena_printf(&f->arena, "precision.attention=%s", row->format);
    ms_job_spec spec = spec_fixture_read(f, "tiny", sets, count);
    ms_job layout;
    return ms_job_lay_out(&spec, &f->arena, &f->diag, &layout);
}

Test(attention_format, kernels_that_train_in_fp8_are_taken) {
    static const refusal ROWS[] = {
        {{NULL}, "fp8_forward", NULL},
        {{NULL}, "fp8_dot_product", NULL},
        {{NULL}, "fp8_multi_head", NULL},
        {{"model.attention=flash3"}, "fp8_forward", NULL},
        {{"platform.file=dgx-b200", "model.heads=16", "model.kv_heads=16"},
         "fp8_dot_product",
         NULL},
        {{"platform.file=dgx-b200", "precision.scaling=current"}, "fp8_dot_product", NULL}};
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        spec_fixture f;
        spec_fixture_init(&f);
        cr_assert_eq(lay_out(&f, &ROWS[i]), MS_OK, "row %zu: %s", i, ms_buffer_text(&f.messages));
        spec_fixture_release(&f);
    }
}

Test(attention_format, what_has_none_is_refused_at_its_key) {
    static const refusal ROWS[] = {
        {{"platform.file=mi300x", "model.attention=fused"},
         "fp8_dot_product",
         "fp8_dot_product on 'mi300x': the GPU type has no figures in fp8 for the kernel"},
        {{"model.attention=flash2"}, "fp8_forward", "fp8_forward on 'h100-sxm5-80gb': the GPU ty"},
        {{"model.attention=flash3"}, "fp8_dot_product", "has no backward pass in fp8; fp8_forward"},
        {{"model.attention=unfused"}, "fp8_dot_product", "'model.attention' is unfused"},
        {{"precision.products=parameters"}, "fp8_dot_product", "set 'precision.products: fp8'"},
        {{"precision.scaling=rowwise"}, "fp8_dot_product", "its scales are of whole tensors"},
        {{"precision.scaling=blockwise"}, "fp8_multi_head", "its scales are of whole tensors"},
        {{"precision.scaling=current"}, "fp8_dot_product", "kernels for Blackwell only"},
        {{"platform.file=dgx-b200", "precision.scaling=current"},
         "fp8_multi_head",
         "products hand on the working type: set fp8_dot_product"},
        {{"model.heads=16", "model.kv_heads=16"}, "fp8_forward", "for heads of that size"},
        {{"model.attention=flash3", "model.head_dim=96"}, "fp8_forward", "for heads of that size"},
        {{"model.window=256"}, "fp8_dot_product", "neither a window nor linear biases"},
        {{"mesh.cp=2", "mesh.dp=1", "mesh.order=[pp, cp, tp]"},
         "fp8_dot_product",
         "with parts of sequences"}};
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        spec_fixture f;
        spec_fixture_init(&f);
        cr_assert_eq(lay_out(&f, &ROWS[i]), MS_E_INPUT, "row %zu", i);
        const char *said = ms_buffer_text(&f.messages);
        cr_assert(strstr(said, "error: precision.attention: ") != NULL, "row %zu: %s", i, said);
        cr_assert(strstr(said, ROWS[i].says) != NULL, "row %zu: %s", i, said);
        spec_fixture_release(&f);
    }
}
