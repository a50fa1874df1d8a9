/* Frameworks: profiles laid below a workload's keys. */
#include <glob.h>
#include <stdio.h>
#include <sys/stat.h>

#include "spec_equal.h"
#include "spec_fixture.h"

/* A small job with every choice left to its framework; the text between is for more keys. */
#define JOB(keys) JOB_OF("gpt", keys)
#define JOB_OF(type, keys)                                                                         \
    "framework: {name: mine}\n"                                                                    \
    "platform: {file: dgx-a100, nodes: 2}\n"                                                       \
    "model: {type: " type                                                                          \
    ", layers: 8, hidden: 1024, heads: 16, ffn: 4096, vocab: 51200, sequence: 1024" keys "}\n"     \
    "mesh: {dp: 4, pp: 2, tp: 2}\n"                                                                \
    "batch: {global: 16}\n"

static const char MINE[] = "name: mine\n"
                           "description: for tests\n"
                           "model: {type: gpt, attention: flash2, kernels: eager, dropout: 0.3,\n"
                           "  bias: false, moe: {dispatch: fp8}}\n"
                           "schedule: {kind: zbh1, sends: blocking, step_end: post_validation}\n"
                           "tensor_parallel: {sequence: true, overlap: ring}\n"
                           "context_parallel: {kind: all_to_all}\n"
                           "data_parallel: {zero: 2, reduce: last, overlap_gather: true,\n"
                           "  all_reduce: true}\n"
                           "recompute_parts: [norms, latent_up]\n"
                           "steps: 4\n";

/* A folder with a workload and, in its `frameworks`, a profile. */
typedef struct framework_case {
    spec_fixture f;
    char folder[64];
    ms_job_spec spec;
    ms_status status;
} framework_case;

static void write_file(const char *folder, const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file, "%s", path);
    cr_assert_geq(fputs(text, file), 0);
    cr_assert_eq(fclose(file), 0);
}

static void read_again(framework_case *c, const char *const *sets, size_t set_count) {
    const ms_job_request request = {.workload =
                                        ms_arena_printf(&c->f.arena, "%s/w.yaml", c->folder),
                                    .data_folder = MS_SOURCE_DIR,
                                    .sets = sets,
                                    .set_count = set_count};
    ms_buffer_release(&c->f.messages);
    ms_buffer_init(&c->f.messages);
    c->status = ms_job_spec_read(&request, &c->f.arena, &c->f.diag, &c->spec);
}

static void begin(framework_case *c, const char *profile, const char *workload) {
    char sub[96];
    spec_fixture_init(&c->f);
    strcpy(c->folder, "/tmp/meshsim-framework-XXXXXX");
    cr_assert_not_null(mkdtemp(c->folder));
    snprintf(sub, sizeof sub, "%s/frameworks", c->folder);
    cr_assert_eq(mkdir(sub, 0700), 0);
    write_file(sub, "mine.yaml", profile);
    write_file(c->folder, "w.yaml", workload);
    read_again(c, NULL, 0);
}

static void end(framework_case *c) {
    char path[128];
    static const char *const NAMES[] = {"frameworks/mine.yaml", "w.yaml", "frameworks", ""};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", c->folder, NAMES[i]);
        cr_assert_eq(remove(path), 0, "%s", path);
    }
    spec_fixture_release(&c->f);
}

static const char *said(const framework_case *c) {
    return ms_buffer_text(&c->f.messages);
}

Test(framework, its_choices_hold_where_the_workload_says_nothing) {
    framework_case c;
    begin(&c, MINE, JOB(", kernels: fused") "recompute: full\n");
    const ms_job_spec *spec = &c.spec;
    cr_assert_eq(c.status, MS_OK, "%s", said(&c));
    cr_assert_str_eq(spec->framework.name, "mine");
    cr_assert_eq(spec->model.attention, MS_ATTENTION_FLASH2);
    cr_assert_eq(spec->model.kernels, MS_KERNELS_FUSED, "the workload says so");
    cr_assert_eq(spec->model.dropout, 0.3);
    cr_assert_not(spec->model.has_bias);
    cr_assert(spec->model.has_positions, "gpt's own");
    cr_assert_eq(spec->model.moe.experts, 0, "experts' choices make no experts");
    cr_assert_eq(spec->schedule.kind, MS_SCHEDULE_ZBH1);
    cr_assert_eq(spec->schedule.sends, MS_SENDS_BLOCKING);
    cr_assert_eq(spec->schedule.step_end, MS_STEP_END_POST_VALIDATION);
    cr_assert_eq(spec->simulation.steps, 4);
    cr_assert_eq(spec->choices.zero, 2);
    cr_assert_eq(spec->choices.tp_overlap, MS_TP_OVERLAP_RING);
    cr_assert_eq(spec->choices.recompute, MS_RECOMPUTE_FULL);
    cr_assert_eq(spec->precision.optimizer_B, 12, "the program's default");
    end(&c);
}

/* cuDNN's attention where the GPU has it; on an A100 such software runs FlashAttention 2. What a
 * workload asks for itself stays, and is refused by the model. */
Test(framework, an_older_gpu_runs_an_older_attention) {
    static const char CUDNN[] = "name: mine\nmodel: {type: gpt, attention: cudnn}\n";
    framework_case c;
    begin(&c, CUDNN, JOB(""));
    cr_assert_eq(c.status, MS_OK, "%s", said(&c));
    cr_assert_eq(c.spec.model.attention, MS_ATTENTION_FLASH2);
    cr_assert_not_null(strstr(c.spec.source.text, "attention: flash2"), "%s", c.spec.source.text);
    read_again(&c, (const char *const[]){"platform.file=dgx-h100"}, 1);
    cr_assert_eq(c.status, MS_OK, "%s", said(&c));
    cr_assert_eq(c.spec.model.attention, MS_ATTENTION_CUDNN);
    read_again(&c, (const char *const[]){"model.attention=cudnn"}, 1);
    cr_assert_eq(c.status, MS_OK, "%s", said(&c));
    cr_assert_eq(c.spec.model.attention, MS_ATTENTION_CUDNN);
    end(&c);
}

/* Triton's kernel has figures on A100 and H100 alone: a B200 runs FlashAttention 2, and a V100,
 * which has no generation of its own, what its type knows of fused attention. */
Test(framework, any_gpu_runs_an_attention_that_it_has) {
    framework_case c;
    begin(&c, "name: mine\nmodel: {type: gpt, attention: triton}\n", JOB(""));
    cr_assert_eq(c.spec.model.attention, MS_ATTENTION_TRITON, "%s", said(&c));
    read_again(&c, (const char *const[]){"platform.file=dgx-b200"}, 1);
    cr_assert_eq(c.spec.model.attention, MS_ATTENTION_FLASH2, "%s", said(&c));
    read_again(&c, (const char *const[]){"platform.file=dgx2-v100", "platform.nodes=1"}, 2);
    cr_assert_eq(c.spec.model.attention, MS_ATTENTION_FUSED, "%s", said(&c));
    cr_assert_not_null(strstr(c.spec.source.text, "attention: fused"), "%s", c.spec.source.text);
    end(&c);
}

/* Every second product is recomputed of dense gated layers with plain heads; of others a profile's
 * choice is left out, a workload's own stays, and is refused where jobs are laid out. */
Test(framework, recomputation_of_products_goes_with_dense_gated_layers) {
    static const char PRODUCTS[] = "name: mine\nrecompute_parts: [norms, products]\n";
    static const char ALONE[] = "name: mine\nrecompute_parts: [products]\n";
    framework_case c;
    begin(&c, PRODUCTS, JOB_OF("llama", ""));
    cr_assert_eq(c.spec.choices.recompute_parts, MS_RECOMPUTE_NORMS | MS_RECOMPUTE_PRODUCTS);
    read_again(&c, (const char *const[]){"model.type=gpt"}, 1);
    cr_assert_eq(c.spec.choices.recompute_parts, MS_RECOMPUTE_NORMS, "%s", said(&c));
    read_again(&c, (const char *const[]){"model.moe={experts: 8, top_k: 2}"}, 1);
    cr_assert_eq(c.spec.choices.recompute_parts, MS_RECOMPUTE_NORMS, "%s", said(&c));
    read_again(&c, (const char *const[]){"model.type=gpt", "recompute_parts=[products]"}, 2);
    cr_assert_eq(c.spec.choices.recompute_parts, MS_RECOMPUTE_PRODUCTS, "%s", said(&c));
    end(&c);
    begin(&c, ALONE, JOB(""));
    cr_assert_eq(c.spec.choices.recompute_parts, 0, "%s", said(&c));
    cr_assert_null(strstr(c.spec.source.text, "recompute_parts"), "%s", c.spec.source.text);
    end(&c);
}

Test(framework, overrides_stand_above_it) {
    static const char *const SETS[] = {"data_parallel.zero=1", "model.dropout=null",
                                       "schedule.sends=async", "model.attention=null"};
    framework_case c;
    begin(&c, MINE, JOB(", dropout: 0, attention: unfused"));
    cr_assert_eq(c.spec.model.dropout, 0);
    read_again(&c, SETS, 4);
    cr_assert_eq(c.status, MS_OK, "%s", said(&c));
    cr_assert_eq(c.spec.choices.zero, 1);
    cr_assert_eq(c.spec.schedule.sends, MS_SENDS_ASYNC);
    cr_assert_eq(c.spec.model.dropout, 0.3, "as if the file did not say it");
    cr_assert_eq(c.spec.model.attention, MS_ATTENTION_FLASH2);
    end(&c);
}

Test(framework, how_models_are_made_goes_with_its_own_family) {
    framework_case c;
    begin(&c, MINE, JOB_OF("llama", ""));
    cr_assert_eq(c.status, MS_OK, "%s", said(&c));
    cr_assert_eq(c.spec.model.dropout, 0);
    cr_assert(c.spec.model.is_rms_norm);
    cr_assert_eq(c.spec.model.attention, MS_ATTENTION_FLASH2);
    end(&c);
}

Test(framework, experts_take_its_choices) {
    framework_case c;
    begin(&c, MINE, JOB(", moe: {experts: 8, top_k: 2}"));
    cr_assert_eq(c.status, MS_OK, "%s", said(&c));
    cr_assert_gt(c.spec.model.moe.dispatch_element_B, 1, "a byte and its share of a scale");
    cr_assert_eq(c.spec.choices.tp_overlap, MS_TP_OVERLAP_NONE, "it is not built beside experts");
    end(&c);
}

/* Whole collectives beside products need no sequence parallelism, products in pieces do. */
Test(framework, overlap_of_whole_collectives_needs_no_sequence_parallelism) {
    static const char *const TWO[] = {"tensor_parallel.sequence=false"};
    framework_case c;
    begin(&c, "name: mine\ntensor_parallel: {sequence: true, overlap: bulk}\n", JOB(""));
    read_again(&c, TWO, 1);
    cr_assert_eq(c.status, MS_OK, "%s", said(&c));
    cr_assert_eq(c.spec.choices.tp_overlap, MS_TP_OVERLAP_BULK);
    end(&c);
    begin(&c, MINE, JOB(""));
    read_again(&c, TWO, 1);
    cr_assert_eq(c.status, MS_OK, "%s", said(&c));
    cr_assert_eq(c.spec.choices.tp_overlap, MS_TP_OVERLAP_NONE);
    end(&c);
}

/* With one rank per axis there is nothing for most choices to do, and the texts do not say them. */
Test(framework, choices_without_a_place_are_taken_back) {
    static const char *const ALONE[] = {"mesh={dp: 1}", "platform={file: ideal, nodes: 1}"};
    framework_case c;
    begin(&c, MINE, JOB(""));
    cr_assert_eq(c.spec.choices.recompute_parts, MS_RECOMPUTE_NORMS, "there are no latents");
    cr_assert_eq(c.spec.choices.cp_kind, MS_CP_RING, "cp is 1");
    read_again(&c, ALONE, 2);
    const ms_job_spec *spec = &c.spec;
    cr_assert_eq(c.status, MS_OK, "%s", said(&c));
    cr_assert_eq(spec->schedule.kind, MS_SCHEDULE_1F1B);
    cr_assert_eq(spec->schedule.step_end, MS_STEP_END_SYNCHRONOUS);
    cr_assert_eq(spec->simulation.steps, 1);
    cr_assert_not(spec->choices.has_sequence_parallel);
    cr_assert_eq(spec->choices.tp_overlap, MS_TP_OVERLAP_NONE);
    const char *const GONE[] = {"sequence:", "overlap: ring", "zbh1",
                                "steps",     "latent_up",     "all_to"};
    for (size_t i = 0; i < sizeof GONE / sizeof GONE[0]; i++) {
        const char *at = strstr(spec->source.text, GONE[i]);
        cr_assert(at == NULL || strncmp(at, "sequence: 1024", 14) == 0, "%s", spec->source.text);
    }
    static const char *const NONE[] = {"data_parallel.zero=0"};
    cr_assert_not(c.spec.choices.all_reduces_gradients, "zero 2 keeps shards");
    read_again(&c, NONE, 1);
    cr_assert_eq(c.spec.reduce, MS_SPEC_OPEN);
    cr_assert_not(c.spec.choices.has_gather_overlap);
    cr_assert_not(c.spec.choices.all_reduces_gradients);
    static const char *const ONE[] = {"data_parallel.zero=1"};
    read_again(&c, ONE, 1);
    cr_assert(c.spec.choices.all_reduces_gradients);
    end(&c);
}

/* What a trace keeps needs no profile: reading it gives the same spec, choices and name. */
Test(framework, the_text_holds_its_choices) {
    framework_case c;
    begin(&c, MINE, JOB(""));
    const ms_job_spec spec = c.spec;
    cr_assert_not_null(strstr(spec.source.text, "expanded: true"), "%s", spec.source.text);
    const ms_job_spec again = spec_fixture_read_text(&c.f, spec.source.text);
    cr_assert(spec_is_equal(&spec, &again), "%s", spec.source.text);
    cr_assert_str_eq(again.framework.name, "mine");
    ms_buffer text;
    ms_buffer_init(&text);
    cr_assert_eq(ms_job_spec_write(&spec, &text), MS_OK);
    const ms_job_spec written = spec_fixture_read_text(&c.f, ms_buffer_text(&text));
    cr_assert(spec_is_equal(&spec, &written), "%s", ms_buffer_text(&text));
    ms_buffer_release(&text);
    end(&c);
}

Test(framework, effective_keys_name_it) {
    framework_case c;
    begin(&c, MINE, JOB(", kernels: fused"));
    const char *text = c.spec.source.effective_text;
    const char *line = strstr(text, "\nschedule.sends = blocking  # framework mine, ");
    cr_assert_not_null(line, "%s", text);
    cr_assert_not_null(strstr(line, "/frameworks/mine.yaml:5\n"), "%s", line);
    cr_assert_not_null(strstr(text, "\nframework.name = mine  # /tmp/meshsim-framework-"));
    const char *kernels = strstr(text, "\nmodel.kernels = fused  # ");
    cr_assert_not_null(kernels, "%s", text);
    cr_assert_eq(strncmp(strstr(kernels, "# "), "# /tmp/", 7), 0, "%s", kernels);
    end(&c);
}

Test(framework, a_profile_by_its_path_starts_at_the_workloads_folder) {
    static const char *const SETS[] = {"framework=./frameworks/mine.yaml"};
    framework_case c;
    begin(&c, MINE, JOB(""));
    read_again(&c, SETS, 1);
    cr_assert_eq(c.status, MS_OK, "%s", said(&c));
    cr_assert_eq(c.spec.model.kernels, MS_KERNELS_EAGER);
    end(&c);
}

Test(framework, faults_are_told) {
    static const struct {
        const char *profile, *workload, *says;
    } CASES[] = {
        {MINE, "framework: mein\nplatform: ideal\n", "expected either 'model' or 'costs'"},
        {MINE, "framework: {name: min}\nmodel: {type: gpt}\n",
         "w.yaml:1:19: error: framework: no framework 'min'; did you mean 'mine'? (known: "
         "bloom, bloom-fp16, composer, "},
        {MINE, "framework: mine\ncosts: {forward: 1 ms, input_gradient: 1 ms}\n",
         "framework: says nothing beside 'costs'"},
        {"mesh: {tp: 2}\n", JOB(""), "mine.yaml:1:7: error: mesh: a framework's profile holds"},
        {"model:\n  hidden: 64\n", JOB(""), "mine.yaml:2:11: error: model.hidden: a fra"},
        {"model: {kernel: eager}\n", JOB(""), "mine.yaml:1:9: error: model.kernel: unknown"},
        {"recompute: some\n", JOB(""), "mine.yaml:1:12: error: recompute: "},
        {"model: [1]\n", JOB(""), "mine.yaml:1:8: error: model: expected a mapping"},
        {"name: {a: b}\n", JOB(""), "mine.yaml:1:7: error: name: expected a text"},
        {"[1]\n", JOB(""), "mine.yaml:1:1: error: "},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        framework_case c;
        begin(&c, CASES[i].profile, CASES[i].workload);
        cr_assert_eq(c.status, MS_E_INPUT, "case %zu", i);
        cr_assert_not_null(strstr(said(&c), CASES[i].says), "case %zu: %s", i, said(&c));
        end(&c);
    }
}

/* ---- the profiles that come with meshsim ---- */

Test(framework, every_profile_is_read_and_named_as_its_file) {
    glob_t found;
    cr_assert_eq(glob(MS_SOURCE_DIR "/workloads/frameworks/*.yaml", 0, NULL, &found), 0);
    cr_assert_gt(found.gl_pathc, 10);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        spec_fixture f;
        spec_fixture_init(&f);
        ms_job_spec spec;
        ms_node *root = NULL;
        char name[64];
        const char *file = strrchr(found.gl_pathv[i], '/') + 1;
        snprintf(name, sizeof name, "%.*s", (int)(strlen(file) - strlen(".yaml")), file);
        cr_assert_eq(ms_job_spec_of_framework(name, MS_SOURCE_DIR, &f.arena, &f.diag, &spec), MS_OK,
                     "%s: %s", name, ms_buffer_text(&f.messages));
        cr_assert_str_eq(spec.framework.name, name);
        cr_assert_eq(ms_yaml_load(found.gl_pathv[i], &f.arena, &f.diag, &root), MS_OK);
        cr_assert_str_eq(ms_node_get(root, "name")->text, name);
        spec_fixture_release(&f);
    }
    globfree(&found);
}

/* What needs more ranks than the small model has is still there for who sets the sizes. */
Test(framework, a_spec_of_a_framework_has_all_its_choices) {
    spec_fixture f;
    spec_fixture_init(&f);
    ms_job_spec spec;
    cr_assert_eq(ms_job_spec_of_framework("deepseek-v3", MS_SOURCE_DIR, &f.arena, &f.diag, &spec),
                 MS_OK);
    cr_assert_eq(spec.schedule.kind, MS_SCHEDULE_DUALPIPE);
    cr_assert_eq(spec.model.moe.node_limit, 4);
    cr_assert(spec.choices.recompute_parts & MS_RECOMPUTE_LATENT_UP);
    cr_assert_null(spec.source.root);
    cr_assert_eq(ms_job_spec_of_framework("nobody", MS_SOURCE_DIR, &f.arena, &f.diag, &spec),
                 MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&f.messages), "no framework 'nobody' (known: "));
    spec_fixture_release(&f);
}
