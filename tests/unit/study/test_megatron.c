/* Arguments of Megatron-LM: its small languages, and the keys that they give, against what its
 * sources say of each. */
#include <criterion/criterion.h>
#include <string.h>

#include "meshsim/megatron.h"

typedef struct fixture {
    ms_arena arena;
    ms_buffer messages;
    ms_diag diag;
    ms_megatron_arguments arguments;
    ms_megatron_job job;
} fixture;

static void keep(void *context, const char *text) {
    ms_buffer_puts(context, text);
}

static void start(fixture *f) {
    ms_arena_init(&f->arena);
    ms_buffer_init(&f->messages);
    ms_diag_init(&f->diag, keep, &f->messages);
    ms_megatron_arguments_init(&f->arguments);
    ms_megatron_job_init(&f->job);
}

static void end(fixture *f) {
    ms_megatron_arguments_release(&f->arguments);
    ms_megatron_job_release(&f->job);
    ms_buffer_release(&f->messages);
    ms_arena_release(&f->arena);
}

static bool says(const fixture *f, const char *words) {
    return strstr(ms_buffer_text(&f->messages), words) != NULL;
}

/* ---- the small languages ---- */

Test(megatron, layouts_unroll_as_megatron_does) {
    static const struct {
        const char *text;
        int stages, layers[12], mtp_stage, mtp_layers, loss_stage;
    } ROWS[] = {
        {"E|t|tL", 3, {0, 1, 1}, -1, 0, 2},
        {"Et*7|t*7mL", 2, {7, 7}, 1, 1, 1},
        {"Et*2|(tt|)*5t|tmL", 8, {2, 2, 2, 2, 2, 2, 1, 1}, 7, 1, 7},
        {"Ettt|(tt|)*2,m|L", 5, {3, 2, 2, 0, 0}, 3, 1, 4},
        {"Et*3\\|\\(tt\\|\\)*6L", 8, {3, 2, 2, 2, 2, 2, 2, 0}, -1, 0, 7},
        {"E(t*2|)*3L", 4, {2, 2, 2, 0}, -1, 0, 3}, /* brackets first, then letters */
        {"Et|*2tL", 3, {1, 0, 1}, -1, 0, 2},
        {"Et*0t|(t)*0t|tmmL", 3, {1, 1, 1}, 2, 2, 2},
    };
    fixture f;
    start(&f);
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        ms_megatron_layout layout;
        cr_assert_eq(ms_megatron_read_layout(ROWS[i].text, NULL, &f.arena, &f.diag, &layout), MS_OK,
                     "%s: %s", ROWS[i].text, ms_buffer_text(&f.messages));
        cr_assert_eq(layout.stages, ROWS[i].stages, "%s: %d", ROWS[i].text, layout.stages);
        int total = 0;
        for (int stage = 0; stage < layout.stages; stage++) {
            cr_assert_eq(layout.layers[stage], ROWS[i].layers[stage], "%s: %d", ROWS[i].text,
                         stage);
            total += layout.layers[stage];
        }
        cr_assert_eq(layout.total, total);
        cr_assert_eq(layout.mtp_stage, ROWS[i].mtp_stage);
        cr_assert_eq(layout.mtp_layers, ROWS[i].mtp_layers);
        cr_assert_eq(layout.loss_stage, ROWS[i].loss_stage);
    }
    end(&f);
}

Test(megatron, layouts_that_are_none_say_where) {
    static const struct {
        const char *text, *message;
    } ROWS[] = {
        {"", "expected one E, before all else, got ''"},
        {"t|tL", "expected one E, before all else"},
        {"Et|tLt", "expected one L, behind all else"},
        {"EtmtL", "expected every m behind all t"},
        {"Etm|mL", "expected all m in one stage"},
        {"Et|xL", "expected E, t, m, L, '|' or '(' at character 4 of 'Et|xL', got 'x'"},
        {"E(tt|)L", "expected '*' and a number at character 7 of 'E(tt|)L', got 'L'"},
        {"E(tt|L", "expected E, t, m, L, '|' or ')' at character 7 of 'E(tt|L', got the end"},
        {"E((t)*2|)*2L", "at character 3"},
        {"Et*L", "expected a number at character 4 of 'Et*L', got 'L'"},
        {"Et*2*2L", "at character 5"},
        {"E(t*1000000)*1000000L", "at most 1000000 layers and stages"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        fixture f;
        ms_megatron_layout layout;
        start(&f);
        cr_assert_eq(ms_megatron_read_layout(ROWS[i].text, NULL, &f.arena, &f.diag, &layout),
                     MS_E_INPUT, "%s", ROWS[i].text);
        cr_assert(says(&f, ROWS[i].message), "%s: %s", ROWS[i].text, ms_buffer_text(&f.messages));
        cr_assert(says(&f, "--pipeline-model-parallel-layout"));
        end(&f);
    }
}

Test(megatron, patterns_are_lists_as_in_python) {
    static const struct {
        const char *text;
        size_t count;
        int values[16];
    } ROWS[] = {
        {"([0]*3+[1]*5)", 8, {0, 0, 0, 1, 1, 1, 1, 1}},
        {"([1]*3+[0]*1)*2", 8, {1, 1, 1, 0, 1, 1, 1, 0}},
        {"[1,1,1,0]*3", 12, {1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0}},
        {"2*[0,1]", 4, {0, 1, 0, 1}},
        {"[0]+[1]*2+[0]", 4, {0, 1, 1, 0}}, /* products before sums */
        {"[0]*(1+2)+[1]", 4, {0, 0, 0, 1}},
        {"[0, 1, 1]", 3, {0, 1, 1}}, /* as a log prints it */
        {"[1,]", 1, {1}},
        {"[]*4+[1]*0", 0, {0}},
    };
    fixture f;
    start(&f);
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        ms_ints values;
        cr_assert_eq(ms_megatron_read_pattern(ROWS[i].text, NULL, &f.arena, &f.diag, &values),
                     MS_OK, "%s: %s", ROWS[i].text, ms_buffer_text(&f.messages));
        cr_assert_eq(values.count, ROWS[i].count, "%s: %zu", ROWS[i].text, values.count);
        for (size_t j = 0; j < values.count; j++) {
            cr_assert_eq(values.items[j], ROWS[i].values[j], "%s: %zu", ROWS[i].text, j);
        }
    }
    end(&f);
}

Test(megatron, patterns_that_are_none_say_where) {
    static const struct {
        const char *text, *message;
    } ROWS[] = {
        {"", "expected a list, a number or '(' at character 1 of '', got the end"},
        {"4", "expected a list, got the number '4'"},
        {"[0]*[1]", "expected a number on one side of '*'"},
        {"[0]+1", "expected lists on both sides of '+'"},
        {"[0 1]", "expected ',' or ']' at character 4 of '[0 1]', got '1'"},
        {"([0]*3", "expected '+', '*' or ')' at character 7 of '([0]*3', got the end"},
        {"[0]*3)", "expected '+', '*' or the end at character 6"},
        {"[-1]", "expected an integer or ']' at character 2 of '[-1]', got '-'"},
        {"[0]*1000000", "expected a list of at most 100000"},
        {"[0]*99999999999", "expected a number up to 1000000000"},
        {"__import__", "got '_'"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        fixture f;
        ms_ints values;
        start(&f);
        cr_assert_eq(ms_megatron_read_pattern(ROWS[i].text, NULL, &f.arena, &f.diag, &values),
                     MS_E_INPUT, "%s", ROWS[i].text);
        cr_assert(says(&f, ROWS[i].message), "%s: %s", ROWS[i].text, ms_buffer_text(&f.messages));
        end(&f);
    }
}

Test(megatron, schedules_of_batches_are_read) {
    static const struct {
        const char *text;
        size_t count;
        int batches[4];
        const char *message;
    } ROWS[] = {
        {"0:384 200B:768 400B:1152", 3, {384, 768, 1152}, NULL},
        {"0:8", 1, {8}, NULL},
        {"0:8 1K:16 1M:32 1T:64", 4, {8, 16, 32, 64}, NULL},
        {"5:8", 0, {0}, "expected a first threshold of 0"},
        {"0:8 2M:16 900K:32", 0, {0}, "expected thresholds that grow"},
        {"0:8 2M", 0, {0}, "expected ':' and a batch at character 7"},
        {"0:0", 0, {0}, "expected a batch of 1 or more"},
        {"0:8x", 0, {0}, "expected a blank or the end"},
        {"", 0, {0}, "expected a count of tokens"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        fixture f;
        ms_ints batches;
        start(&f);
        ms_status status = ms_megatron_read_steps(ROWS[i].text, NULL, &f.arena, &f.diag, &batches);
        cr_assert_eq(status, ROWS[i].message == NULL ? MS_OK : MS_E_INPUT, "%s", ROWS[i].text);
        if (status == MS_OK) {
            cr_assert_eq(batches.count, ROWS[i].count);
            cr_assert_arr_eq(batches.items, ROWS[i].batches, batches.count * sizeof(int));
        } else {
            cr_assert(says(&f, ROWS[i].message), "%s", ms_buffer_text(&f.messages));
        }
        end(&f);
    }
}

/* ---- keys ---- */

#define SMALL                                                                                      \
    "--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 512 "                 \
    "--micro-batch-size 2 "

/* Arguments with their values, cut before each "--"; quotes around a value are left out. */
static ms_words cut(fixture *f, const char *line) {
    const char **items = MS_NEW(&f->arena, const char *, strlen(line) + 1);
    ms_words words = {.items = items};
    for (const char *at = strstr(line, "--"); at != NULL;) {
        const char *next = strstr(at + 2, " --");
        size_t length = next == NULL ? strlen(at) : (size_t)(next - at);
        char *word = MS_NEW(&f->arena, char, length + 1);
        size_t kept = 0;
        for (size_t i = 0; i < length; i++) {
            if (at[i] != '\'' && (at[i] != ' ' || i + 1 < length)) {
                word[kept++] = at[i];
            }
        }
        word[kept] = '\0';
        items[words.count++] = word;
        at = next == NULL ? NULL : next + 1;
    }
    return words;
}

static ms_status translate(fixture *f, const char *line) {
    const ms_megatron_facts facts = {.data_folder = MS_SOURCE_DIR};
    const ms_words words = cut(f, line);
    cr_assert_eq(ms_megatron_take(&words, &f->arena, &f->diag, &f->arguments), MS_OK);
    return ms_megatron_translate(&f->arguments, &facts, &f->arena, &f->diag, &f->job);
}

/* The value of a key; "-" where it is required; NULL where it is not set. */
static const char *value_of(const fixture *f, const char *key) {
    for (size_t i = 0; i < f->job.settings.count; i++) {
        const ms_megatron_setting *setting = &MS_AT(&f->job.settings, ms_megatron_setting, i);
        if (strcmp(setting->key, key) == 0) {
            return setting->value == NULL ? "-" : setting->value;
        }
    }
    return NULL;
}

typedef struct key_row {
    const char *arguments, *key, *value; /* NULL: not set */
} key_row;

static void expect_keys(const key_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        fixture f;
        ms_buffer line;
        start(&f);
        ms_buffer_init(&line);
        ms_buffer_printf(&line, SMALL "%s", rows[i].arguments);
        ms_status status = translate(&f, ms_buffer_text(&line));
        cr_assert_eq(status, MS_OK, "%s: %s", rows[i].arguments, ms_buffer_text(&f.messages));
        const char *value = value_of(&f, rows[i].key);
        bool is_same = rows[i].value == NULL ? value == NULL
                                             : value != NULL && strcmp(value, rows[i].value) == 0;
        cr_assert(is_same, "%s: %s is %s, not %s", rows[i].arguments, rows[i].key,
                  value == NULL ? "not set" : value,
                  rows[i].value == NULL ? "unset" : rows[i].value);
        ms_buffer_release(&line);
        end(&f);
    }
}

#define EXPECT_KEYS(...)                                                                           \
    expect_keys((const key_row[]){__VA_ARGS__},                                                    \
                sizeof((const key_row[]){__VA_ARGS__}) / sizeof(key_row))

Test(megatron, defaults_are_those_of_its_arguments) {
    EXPECT_KEYS({"", "model.type", "gpt"}, {"", "model.ffn", "4096"}, {"", "model.vocab", "-"},
                {"", "mesh.dp", "-"}, {"", "model.kv_heads", NULL}, {"", "model.head_dim", NULL},
                {"", "model.norm", "layer"}, {"", "model.bias", "true"},
                {"", "model.positions", "learned"}, {"", "model.tied_embeddings", "true"},
                {"", "model.dropout", "0.1"}, {"", "model.gated", "false"},
                {"", "precision.parameters", "fp32"}, {"", "precision.optimizer", "8 B"},
                {"", "data_parallel.zero", "0"}, {"", "data_parallel.overlap_reduce", "false"},
                {"", "recompute", "none"}, {"", "model.loss", "vocab_parallel"},
                {"", "batch.microbatches", "1"}, {"", "batch.global", NULL});
}

Test(megatron, sizes_follow_its_rules) {
    EXPECT_KEYS({"--swiglu", "model.ffn", "2688"}, /* int(4 * 1024 * 2 / 3 / 64) * 64 */
                {"--swiglu", "model.type", "llama"},
                {"--group-query-attention", "model.kv_heads", "1"},
                {"--group-query-attention --num-query-groups 4", "model.kv_heads", "4"},
                {"--num-query-groups 4", "model.kv_heads", NULL},
                {"--vocab-size 50257", "model.vocab", "50304"},
                {"--vocab-size 50257 --tensor-model-parallel-size 8", "model.vocab", "51200"},
                {"--vocab-size 100 --make-vocab-size-divisible-by 64", "model.vocab", "128"},
                {"--padded-vocab-size 777 --vocab-size 5", "model.vocab", "777"},
                {"--kv-channels 128", "model.head_dim", "128"},
                {"--window-size 127,0", "model.window", "128"},
                {"--multi-latent-attention", "model.mla.kv_rank", "32"},
                {"--multi-latent-attention", "model.mla.q_rank", "0"},
                {"--multi-latent-attention", "model.bias", "false"},
                {"--qk-layernorm", "model.qk_norm", "true"},
                {"--qk-layernorm --multi-latent-attention", "model.qk_norm", NULL},
                {"--add-qkv-bias --disable-bias-linear", "model.biases", "[qkv]"},
                {"--q-lora-rank 5", "model.mla.q_rank", NULL},
                {"--position-embedding-type rope", "model.positions", "rotary"});
}

Test(megatron, experts_lie_in_the_layers_of_the_pattern) {
    EXPECT_KEYS(
        {"--num-experts 4", "model.moe.top_k", "2"},
        {"--num-experts 4", "model.moe.first_dense_layers", NULL},
        {"--num-experts 4 --moe-layer-freq ([0]*3+[1]*5)", "model.moe.first_dense_layers", "3"},
        {"--num-experts 4 --moe-layer-freq [0,1]*4", "model.moe.every", "2"},
        {"--num-experts 4 --moe-layer-freq [0,0,0,1]*2", "model.moe.every", "4"},
        {"--num-experts 4 --moe-layer-freq 2", "model.moe.dense_layers", "[1, 3, 5, 7]"},
        {"--num-experts 4 --moe-layer-freq [1,1,0,1,1,0,1,1]", "model.moe.dense_layers", "[2, 5]"},
        {"--num-experts 4 --moe-shared-expert-intermediate-size 64", "model.moe.shared_experts",
         "1"},
        {"--num-experts 4 --moe-router-enable-expert-bias", "model.moe.router_bias", "true"},
        {"--moe-router-topk 4", "model.moe.top_k", NULL});
}

Test(megatron, meshes_follow_its_order_of_ranks) {
    EXPECT_KEYS(
        {"--world-size 16 --tensor-model-parallel-size 4", "mesh.dp", "4"},
        {"", "mesh.order", "[pp, dp, cp, tp]"},
        {"--use-tp-pp-dp-mapping", "mesh.order", "[dp, pp, cp, tp]"},
        {"--num-experts 8 --expert-model-parallel-size 4 --world-size 8", "mesh.ep", "4"},
        {"--num-experts 8 --expert-model-parallel-size 4 --world-size 8", "mesh.dp", "2"},
        {"--num-experts 8 --expert-model-parallel-size 4 --world-size 8 "
         "--tensor-model-parallel-size 2 --sequence-parallel",
         "expert_mesh.ep", "4"},
        {"--num-experts 8 --expert-model-parallel-size 4 --world-size 8 "
         "--tensor-model-parallel-size 2 --sequence-parallel",
         "expert_mesh.tp", "2"},
        {"--num-experts 8 --tensor-model-parallel-size 2 --sequence-parallel "
         "--expert-tensor-parallel-size 1",
         "expert_mesh.ep", "1"},
        {"--sequence-parallel", "tensor_parallel.sequence", NULL}, /* off with tp 1 */
        {"--context-parallel-size 2 --cp-comm-type a2a", "context_parallel.kind", "all_to_all"});
}

Test(megatron, stages_have_the_layers_that_it_gives_them) {
    EXPECT_KEYS(
        {"--pipeline-model-parallel-size 2", "schedule.kind", "1f1b"},
        {"--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 2", "schedule.v",
         "2"},
        {"--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 4",
         "schedule.kind", "interleaved"},
        {"--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et|ttt|tt|ttL'",
         "schedule.stage_layers", "[1, 3, 2, 2]"},
        {"--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et|ttt|tt|ttL'",
         "schedule.v", "2"},
        {"--pipeline-model-parallel-size 5 --account-for-embedding-in-pipeline-split "
         "--account-for-loss-in-pipeline-split",
         "schedule.first_stage_layers", "1"},
        {"--pipeline-model-parallel-size 3 --account-for-embedding-in-pipeline-split",
         "schedule.first_stage_layers", "2"},
        {"--pipeline-model-parallel-size 3 --decoder-first-pipeline-num-layers 2",
         "schedule.stage_layers", "[2, 3, 3]"},
        {"--pipeline-model-parallel-size 3 --decoder-first-pipeline-num-layers 2 "
         "--num-virtual-stages-per-pipeline-rank 2 --decoder-last-pipeline-num-layers 2",
         "schedule.stage_layers", "[1, 2, 1, 1, 2, 1]"});
}

Test(megatron, state_is_as_its_optimizer_keeps_it) {
    EXPECT_KEYS(
        {"--bf16", "precision.optimizer", "12 B"}, {"--bf16", "precision.gradients", "fp32"},
        {"--bf16 --grad-reduce-in-bf16", "precision.gradients", "bf16"},
        {"--fp16", "precision.gradients", "fp16"},
        {"--fp16 --accumulate-allreduce-grads-in-fp32", "precision.gradients", "fp32"},
        {"--bf16 --optimizer sgd", "precision.optimizer", "8 B"},
        {"--bf16 --use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype fp8",
         "precision.optimizer", "5 B"},
        {"--bf16 --use-precision-aware-optimizer --main-grads-dtype bf16", "precision.gradients",
         "bf16"},
        {"--bf16 --main-grads-dtype bf16", "precision.gradients", "fp32"},
        {"--use-distributed-optimizer", "data_parallel.zero", "1"},
        {"--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads", "data_parallel.zero",
         "2"},
        {"--use-torch-fsdp2", "data_parallel.zero", "3"},
        {"--overlap-grad-reduce --ddp-bucket-size 1000 --bf16", "data_parallel.bucket", "4000 B"},
        {"--fp8-format hybrid", "precision.scaling", "delayed"},
        {"--fp8-format e4m3 --fp8-recipe mxfp8", "precision.products", "mxfp8"},
        {"--fp4-format e2m1", "precision.products", "nvfp4"},
        {"--fp8-format hybrid --no-fp8-wgrad", "precision.weight_gradients", "parameters"},
        {"--fp8-format hybrid --fp8-dot-product-attention", "precision.attention",
         "fp8_dot_product"},
        {"--bf16 --fp8-format hybrid --fp8-dot-product-attention", "model.attention", "cudnn"},
        {"--fp8-dot-product-attention", "precision.attention", NULL},
        {"--fp8-format hybrid --fp8-multi-head-attention", "precision.attention", "fp8_multi_head"},
        {"--fp8-format hybrid --fp8-recipe tensorwise --fp8-dot-product-attention "
         "--fp8-multi-head-attention",
         "precision.attention", "fp8_dot_product"});
}

Test(megatron, recomputation_is_in_its_words) {
    EXPECT_KEYS(
        {"--recompute-activations", "recompute", "selective"},
        {"--recompute-granularity full --recompute-method uniform", "recompute", "full"},
        {"--recompute-granularity full --recompute-method block --recompute-num-layers 3",
         "recompute_layers", "3"},
        {"--recompute-granularity full --recompute-method block --recompute-num-layers 0",
         "recompute", "none"},
        {"--recompute-granularity selective", "recompute", "selective"},
        {"--recompute-granularity selective --recompute-modules layernorm moe_act",
         "recompute_parts", "[norms, activations]"},
        {"--recompute-granularity selective --recompute-modules layernorm", "recompute", "none"},
        {"--checkpoint-activations", "recompute", "full"});
}

Test(megatron, values_that_are_wrong_are_refused) {
    static const struct {
        const char *arguments, *message;
    } ROWS[] = {
        {"--num-layers x", "expected a count of 1 or more, got 'x'"},
        {"--tensor-model-parallel-size $TP", "which the file does not set"},
        {"--num-experts 4 --moe-layer-freq [0]*3",
         "expected one entry for each of 8 layers, got 3"},
        {"--num-experts 4 --moe-layer-freq [0]*8", "expected a layer with experts"},
        {"--pipeline-model-parallel-size 3", "expected a divisor of 8 layers, got 3 stages"},
        {"--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et|tL'",
         "expected 8 layers and 0 prediction modules, got 2 and 0"},
        {"--world-size 6 --tensor-model-parallel-size 4", "that divide 6 GPUs"},
        {"--bf16 --fp16", "expected one of it and --bf16, got both"},
        {"--fp8-format hybrid --fp8-recipe odd",
         "expected delayed, tensorwise, blockwise or mxfp8"},
        {"--recompute-granularity all", "expected full or selective, got 'all'"},
        {"--cp-comm-type odd --context-parallel-size 2", "expected p2p, a2a, allgather or a2a+p2p"},
        {"--hidden-dropout -1", "expected a number of 0 or more, got '-1'"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        fixture f;
        ms_buffer line;
        start(&f);
        ms_buffer_init(&line);
        ms_buffer_printf(&line, SMALL "%s", ROWS[i].arguments);
        cr_assert_eq(translate(&f, ms_buffer_text(&line)), MS_E_INPUT, "%s", ROWS[i].arguments);
        cr_assert(says(&f, ROWS[i].message), "%s: %s", ROWS[i].arguments,
                  ms_buffer_text(&f.messages));
        ms_buffer_release(&line);
        end(&f);
    }
}

static const ms_megatron_argument *argument(const fixture *f, const char *name) {
    for (size_t i = 0; i < f->arguments.items.count; i++) {
        const ms_megatron_argument *a = &MS_AT(&f->arguments.items, ms_megatron_argument, i);
        if (strcmp(a->name, name) == 0) {
            return a;
        }
    }
    return NULL;
}

Test(megatron, of_every_argument_is_said_what_became_of_it) {
    static const struct {
        const char *name;
        ms_megatron_use use;
        const char *why; /* part of it */
    } ROWS[] = {
        {"--num-layers", MS_MEGATRON_USED, "model.layers"},
        {"--lr", MS_MEGATRON_IGNORED, "rates"},
        {"--q-lora-rank", MS_MEGATRON_IGNORED, "changes nothing in this job"},
        {"--qk-layernorm", MS_MEGATRON_USED, "model.qk_norm"},
        {"--qk-l2-norm", MS_MEGATRON_DIFFERENT, "not normalised"},
        {"--made-up", MS_MEGATRON_UNKNOWN, NULL},
        {"--log-interval", MS_MEGATRON_IGNORED, "given again"},
        {"--moe-token-dispatcher-type", MS_MEGATRON_IGNORED, "in any case"},
    };
    fixture f;
    start(&f);
    cr_assert_eq(translate(&f,
                           SMALL "--lr 1 --q-lora-rank 5 --qk-layernorm --qk-l2-norm --made-up 3 "
                                 "--log-interval 1 --log-interval 2 "
                                 "--moe-token-dispatcher-type alltoall"),
                 MS_OK);
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        const ms_megatron_argument *a = argument(&f, ROWS[i].name);
        cr_assert_eq(a->use, ROWS[i].use, "%s: %d", a->name, a->use);
        cr_assert((ROWS[i].why == NULL) == (a->why == NULL), "%s", a->name);
        cr_assert(a->why == NULL || strstr(a->why, ROWS[i].why) != NULL, "%s: %s", a->name, a->why);
    }
    end(&f);
}
