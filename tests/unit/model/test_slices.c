/* Sequences cut in slices, with passes of their own. */
#include "moe_fixture.h"

static void lay_out(fixture_costs *fixture, const ms_model *model) {
    ms_gpu_type gpu = fixture_a100();
    fixture_run(fixture, model, &gpu);
    cr_assert_eq(fixture->status, MS_OK, "%s", fixture->log.text);
}

static int slice_count(const fixture_costs *fixture) {
    return fixture->costs.slices;
}

/* Sum over the segments of a pass, in one slice or all (-1), of what `value` says. */
typedef double (*value_fn)(const ms_segment *segment);

static double flop_of(const ms_segment *segment) {
    return segment->flop;
}

static double bytes_of(const ms_segment *segment) {
    return segment->bytes_moved;
}

static double time_of(const ms_segment *segment) {
    return segment->time_s;
}

static double tp_bytes_of(const ms_segment *segment) {
    return segment->is_collective && segment->axis == MS_AXIS_TP ? segment->coll_B : 0;
}

static double ep_bytes_of(const ms_segment *segment) {
    return segment->is_collective && segment->axis == MS_AXIS_EP ? segment->coll_B : 0;
}

static double repeated_flop_of(const ms_segment *segment) {
    return segment->is_recompute ? segment->flop : 0;
}

typedef struct pass_place {
    int stage, part;
    ms_pass pass;
} pass_place;

static double sum_of(const fixture_costs *fixture, pass_place at, value_fn value) {
    ms_pass_plan plan = ms_stage_cost_of(&fixture->costs, at.stage, at.part)->passes[at.pass];
    double sum = 0;
    for (int i = plan.first; i < plan.first + plan.count; i++) {
        sum += value(&fixture->costs.segments[i]);
    }
    return sum;
}

static double sum_of_parts(const fixture_costs *fixture, int stage, ms_pass pass, value_fn value) {
    double sum = 0;
    for (int part = 0; part < slice_count(fixture); part++) {
        sum += sum_of(fixture, (pass_place){stage, part, pass}, value);
    }
    return sum;
}

/* Models of every kind of layer, and layouts whose passes differ. */
enum { MODELS = 4, LAYOUTS = 5 };

static ms_model model_of(int index) {
    ms_model models[MODELS] = {fixture_llama(6, 1024, 16, 4, 4096), fixture_gpt(5, 1024, 16, 51200),
                               fixture_small_moe(4), fixture_deepseek_v3()};
    models[1].attention = MS_ATTENTION_FUSED;
    models[2].vocab = 32000;
    models[3].layers = 5;
    models[3].mtp_layers = 1;
    return models[index];
}

static void choose_layout(fixture_costs *fixture, const ms_model *model, int index) {
    fixture_init(fixture);
    ms_model_layout *layout = &fixture->layout;
    layout->pp = 2;
    layout->micro_batch = 2;
    layout->tp = index > 0 ? 2 : 1;
    layout->ep = model->moe.experts > 0 && index > 0 ? 4 : 1;
    layout->has_sequence_parallel = index == 2;
    layout->has_scatter_gather = index == 1;
    layout->recompute = index == 3   ? MS_RECOMPUTE_FULL
                        : index == 4 ? MS_RECOMPUTE_SELECTIVE
                                     : MS_RECOMPUTE_NONE;
    layout->recompute_parts = index == 4 ? MS_RECOMPUTE_NORMS | MS_RECOMPUTE_ACTIVATIONS : 0;
}

/* Parts compute, send and keep together what the whole sequence does. */
Test(slices, sum_to_the_whole_sequence) {
    const value_fn SUMMED[] = {flop_of, tp_bytes_of, ep_bytes_of, repeated_flop_of};
    for (int k = 0; k < MODELS * LAYOUTS * 3; k++) {
        ms_model model = model_of(k / 3 / LAYOUTS);
        fixture_costs whole, cut;
        choose_layout(&whole, &model, k / 3 % LAYOUTS);
        choose_layout(&cut, &model, k / 3 % LAYOUTS);
        int parts = cut.layout.slices = 2 << k % 3;
        lay_out(&whole, &model);
        lay_out(&cut, &model);
        cr_assert_eq(slice_count(&cut), parts);
        for (int stage = 0; stage < 2; stage++) {
            for (int i = 0; i < MS_PASS_COUNT * 4; i++) {
                double sum = sum_of_parts(&cut, stage, (ms_pass)(i / 4), SUMMED[i % 4]);
                double expected = sum_of_parts(&whole, stage, (ms_pass)(i / 4), SUMMED[i % 4]);
                cr_assert_lt(fixture_gap(sum, expected), 1e-12, "%d: %g, not %g", k, sum, expected);
            }
            double forward_B = 0, backward_B = 0, kept_B = 0;
            for (int part = 0; part < parts; part++) {
                const ms_stage_cost *cost = ms_stage_cost_of(&cut.costs, stage, part);
                forward_B += cost->send_forward_B;
                backward_B += cost->send_backward_B;
                kept_B += cost->memory.activation_B;
            }
            const ms_stage_cost *cost = &whole.costs.stage[stage];
            cr_assert_lt(fixture_gap(forward_B, cost->send_forward_B), 1e-14);
            cr_assert_lt(fixture_gap(backward_B, cost->send_backward_B), 1e-14);
            bool is_full = whole.layout.recompute == MS_RECOMPUTE_FULL;
            cr_assert(is_full || fixture_gap(kept_B, cost->memory.activation_B) < 1e-12);
        }
        cr_assert_eq(whole.costs.forward_flop, cut.costs.forward_flop);
        cr_assert_eq(whole.costs.recompute_flop, cut.costs.recompute_flop);
        fixture_clear(&whole);
        fixture_clear(&cut);
    }
}

/* Each part of s/K tokens meets the keys of those before it in full and half of its own:
 * (s/K)^2 (q + 1/2) pairs, forward in two products, backward in five. */
Test(slices, see_the_keys_before_them) {
    ms_model model = fixture_llama(1, 1024, 16, 4, 4096);
    model.vocab = 0;
    double s = model.sequence;
    for (int parts = 1; parts <= 16; parts *= 2) {
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.micro_batch = 3;
        fixture.layout.slices = parts;
        lay_out(&fixture, &model);
        for (int part = 0; part < parts; part++) {
            double pairs = 3 * 16 * (s / parts) * (s / parts) * (part + 0.5);
            double weights = 1024 * (2 * 1024.0 + 2 * 256) + 3 * 1024.0 * 4096;
            double products = 2 * 3 * s / parts * weights;
            double forward = sum_of(&fixture, (pass_place){0, part, MS_PASS_F}, flop_of);
            double input = sum_of(&fixture, (pass_place){0, part, MS_PASS_I}, flop_of);
            double weight = sum_of(&fixture, (pass_place){0, part, MS_PASS_W}, flop_of);
            cr_assert_lt(fixture_gap(forward, products + 2 * 2 * 64 * pairs), 1e-14);
            cr_assert_lt(fixture_gap(input, products + 5 * 2 * 64 * pairs), 1e-14);
            cr_assert_lt(fixture_gap(weight, products), 1e-14);
        }
        fixture_clear(&fixture);
    }
}

/* Without a fused kernel the masked half is computed, but for keys behind the part: (K + 1) / 2 K
 * of the square. */
Test(slices, skip_only_later_keys_in_a_full_score_matrix) {
    ms_model model = fixture_gpt(3, 1024, 16, 0);
    double square = 4.0 * 2048 * 2048 * 1024 * 3;
    fixture_costs whole;
    fixture_init(&whole);
    lay_out(&whole, &model);
    for (int parts = 2; parts <= 8; parts *= 2) {
        fixture_costs cut;
        fixture_init(&cut);
        cut.layout.slices = parts;
        lay_out(&cut, &model);
        double skipped = square * (1 - (parts + 1.0) / (2 * parts));
        for (int pass = MS_PASS_F; pass <= MS_PASS_I; pass++) {
            double difference = sum_of_parts(&whole, 0, (ms_pass)pass, flop_of) -
                                sum_of_parts(&cut, 0, (ms_pass)pass, flop_of);
            double factor = pass == MS_PASS_I ? 2 : 1;
            cr_assert_lt(fixture_gap(difference, factor * skipped), 1e-12);
        }
        /* softmax, its mask and its result: 5 bytes per head and key a token sees */
        double kept_B = whole.costs.stage[0].memory.activation_B;
        for (int part = 0; part < parts; part++) {
            kept_B -= ms_stage_cost_of(&cut.costs, 0, part)->memory.activation_B;
        }
        double unseen = 2048.0 * 2048 * 16 * 3 * (1 - (parts + 1.0) / (2 * parts));
        cr_assert_lt(fixture_gap(kept_B, 5 * unseen), 1e-12);
        fixture_clear(&cut);
    }
    fixture_clear(&whole);
}

/* A later part has more to see, and cutting never saves time: more launches, smaller products,
 * weight gradients added to more often. */
Test(slices, later_ones_take_longer_and_all_longer_than_one) {
    for (int k = 0; k < MODELS * LAYOUTS; k++) {
        ms_model model = model_of(k / LAYOUTS);
        fixture_costs whole, cut;
        choose_layout(&whole, &model, k % LAYOUTS);
        choose_layout(&cut, &model, k % LAYOUTS);
        cut.layout.slices = 4;
        lay_out(&whole, &model);
        lay_out(&cut, &model);
        for (int i = 0; i < 2 * MS_PASS_COUNT; i++) {
            int stage = i % 2;
            ms_pass pass = (ms_pass)(i / 2);
            cr_assert_gt(sum_of_parts(&cut, stage, pass, time_of),
                         sum_of_parts(&whole, stage, pass, time_of));
            cr_assert_gt(sum_of_parts(&cut, stage, pass, bytes_of),
                         sum_of_parts(&whole, stage, pass, bytes_of) * (1 - 1e-12));
            for (int part = 1; part < 4; part++) {
                double before_s = sum_of(&cut, (pass_place){stage, part - 1, pass}, time_of);
                double after_s = sum_of(&cut, (pass_place){stage, part, pass}, time_of);
                bool is_last_sum = part == 3 && pass != MS_PASS_F; /* has nothing to add to */
                cr_assert(pass == MS_PASS_W ? after_s == before_s
                                            : is_last_sum || after_s > before_s);
            }
        }
        fixture_clear(&whole);
        fixture_clear(&cut);
    }
}

/* The kernel of a name and shape, which has to be there. */
static const ms_kernel *find_kernel(const fixture_costs *fixture, const char *name,
                                    const char *shape) {
    const ms_kernel *found = NULL;
    for (int i = 0; i < fixture->costs.kernel_count && !found; i++) {
        const ms_kernel *kernel = &fixture->costs.kernels[i];
        bool is_it = strcmp(kernel->name, name) == 0 && strcmp(kernel->shape, shape) == 0;
        found = is_it ? kernel : NULL;
    }
    cr_assert_not_null(found, "no %s of %s", name, shape);
    return found;
}

/* Blocks of 128 rows, counted in full ones: forward a part's queries, of which the longest see
 * q + 1 parts and the mean q + 1/2; backward the keys it sees. */
Test(slices, attention_kernels_fill_the_gpu_with_what_they_have) {
    ms_model model = fixture_llama(1, 1024, 16, 4, 4096);
    ms_gpu_type gpu = fixture_a100();
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.slices = 4;
    lay_out(&fixture, &model);
    const char *const SHAPES[] = {"b1 s2048 a16 kv4 d64", "b1 s2048 k4096 a16 kv4 d64",
                                  "b1 s2048 k6144 a16 kv4 d64", "b1 s2048 k8192 a16 kv4 d64"};
    for (int part = 0; part < 4; part++) {
        double seen = part + 0.5, idle = gpu.sms - 1;
        double rows = 16 * 2048 / 128.0 * seen / (part + 1), columns = 16 * 2048 / 128.0 * seen;
        double forward = 0.68 * rows / (rows + 0.75 * idle);
        double backward = 0.54 * columns / (columns + 0.15 * idle);
        double flop = 2 * 2 * 64 * 16 * 2048.0 * 2048 * seen;
        const ms_kernel *there = find_kernel(&fixture, "attention", SHAPES[part]);
        const ms_kernel *back = find_kernel(&fixture, "attention_backward", SHAPES[part]);
        cr_assert(!there->is_memory_bound && !back->is_memory_bound);
        cr_assert_lt(fixture_gap(there->time_s, flop / (312e12 * forward) + 2e-6), 1e-12);
        cr_assert_lt(fixture_gap(back->time_s, 2.5 * flop / (312e12 * backward) + 2e-6), 1e-12);
        double moved_B = 2 * 2 * 64 * (16 * 2048.0 + 4 * 2048.0 * (part + 1));
        cr_assert_eq(there->bytes, moved_B);
        cr_assert_eq(back->bytes, 2 * moved_B);
    }
    fixture_clear(&fixture);
}

/* A part puts its own queries', keys' and values' gradients together, and holds the scores of the
 * keys it sees. */
Test(slices, full_score_matrices_are_as_wide_as_what_is_seen) {
    ms_model model = fixture_gpt(1, 1024, 16, 0);
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.slices = 4;
    lay_out(&fixture, &model);
    int concats = 0; /* one shape: 512 tokens, 3 x 1024, 2 bytes, in and out */
    for (int i = 0; i < fixture.costs.kernel_count; i++) {
        bool is_concat = strcmp(fixture.costs.kernels[i].name, "qkv_concat") == 0;
        cr_assert(!is_concat || fixture.costs.kernels[i].bytes == 512 * 3 * 1024 * 2 * 2.0);
        concats += is_concat;
    }
    cr_assert_eq(concats, 1);
    double before_B = 0;
    for (int part = 0; part < 4; part++) {
        double working_B = ms_stage_cost_of(&fixture.costs, 0, part)->memory.working_B;
        double scores_B = 2 * 2 * 16 * 512.0 * 512; /* the result's and the gradient's */
        double key_values_B = 2 * 2 * 1024 * 512.0;
        /* one more part's scores; one more part's gradients at work, and waiting: the last part has
         * nothing yet to add to */
        double more_B = scores_B + (part < 3 ? 2 : -2) * key_values_B;
        cr_assert(part == 0 || working_B - before_B == more_B, "part %d", part);
        before_B = working_B;
    }
    fixture_clear(&fixture);
}

/* Gradients of all keys and values that a part has seen are added to what the later parts left,
 * which the last part has none of. */
Test(slices, add_gradients_of_the_keys_they_saw) {
    ms_model model = fixture_llama(3, 1024, 16, 4, 4096);
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.micro_batch = 2;
    fixture.layout.slices = 4;
    lay_out(&fixture, &model);
    const ms_stage_costs *costs = &fixture.costs;
    for (int part = 0; part < 4; part++) {
        ms_pass_plan plan = ms_stage_cost_of(costs, 0, part)->passes[MS_PASS_B];
        double bytes = 0, calls = 0;
        for (int i = plan.first; i < plan.first + plan.count; i++) {
            const ms_segment *segment = &costs->segments[i];
            for (int u = segment->kernels.use_first;
                 u < segment->kernels.use_first + segment->kernels.uses; u++) {
                const ms_kernel *kernel = &costs->kernels[costs->uses[u].kernel];
                if (strcmp(kernel->name, "kv_gradient_merge") == 0) {
                    calls += costs->uses[u].calls;
                    bytes += costs->uses[u].calls * kernel->bytes;
                }
            }
        }
        double seen_B = 2 * 8192 / 4.0 * (part + 1) * 2 * 4 * 64 * 2; /* tokens, k and v, bytes */
        cr_assert_eq(calls, part < 3 ? 3 : 0);
        cr_assert_eq(bytes, part < 3 ? 3 * 3 * seen_B : 0);
    }
    fixture_clear(&fixture);
}

/* Keys and values that later parts see stay where layers are recomputed, and their gradients wait
 * in all layers from one part's backward pass to the next. */
Test(slices, keep_keys_and_their_gradients) {
    ms_model model = fixture_llama(3, 1024, 16, 4, 4096);
    model.vocab = 0;
    double tokens = 2 * 8192 / 4.0, key_value_B = tokens * 2 * 4 * 64 * 2;
    double working_B[2];
    for (int is_full = 0; is_full <= 1; is_full++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.micro_batch = 2;
        fixture.layout.slices = 4;
        fixture.layout.recompute = is_full ? MS_RECOMPUTE_FULL : MS_RECOMPUTE_NONE;
        lay_out(&fixture, &model);
        for (int part = 0; part < 4; part++) {
            const ms_stage_memory *memory = &ms_stage_cost_of(&fixture.costs, 0, part)->memory;
            double input_B = tokens * 1024 * 2;
            double seen_B = part < 3 ? key_value_B : 0;
            cr_assert(!is_full || memory->activation_B == 3 * (input_B + seen_B));
            cr_assert(part == 0 || memory->working_B >= working_B[0]);
            working_B[part > 0] = memory->working_B;
        }
        /* from the first part to the last: in the layer at work from one part's to one part's own,
         * waiting from one part to three in each of three layers */
        cr_assert_lt(fixture_gap(working_B[1] - working_B[0], 3 * 2 * key_value_B), 1e-12);
        fixture_clear(&fixture);
    }
}

/* What is once per step stands in every part's passes, the same bytes; states are the stage's. */
Test(slices, all_have_what_is_once_per_step) {
    ms_model model = fixture_llama(6, 1024, 16, 4, 4096);
    for (int zero = 0; zero <= 3; zero++) {
        fixture_costs whole, cut;
        fixture_init(&whole);
        whole.layout.pp = 2;
        whole.layout.dp = 4;
        whole.layout.zero = zero;
        whole.layout.has_reduce_overlap = true;
        whole.layout.has_gather_overlap = zero > 0;
        whole.layout.keeps_parameters = zero == 3;
        fixture_init(&cut);
        cut.layout = whole.layout;
        cut.layout.slices = 4;
        lay_out(&whole, &model);
        lay_out(&cut, &model);
        fixture_check_waits(&cut.costs);
        for (int i = 0; i < 2 * 4; i++) {
            const ms_stage_cost *a = &whole.costs.stage[i % 2], *b = &cut.costs.stage[i];
            for (int pass = 0; pass < MS_PASS_COUNT; pass++) {
                for (int mb = 0; mb < 3; mb++) {
                    double expected =
                        fixture_plan_sent_B(&whole, a->passes[pass], MS_AXIS_DP, mb, 3);
                    double sent = fixture_plan_sent_B(&cut, b->passes[pass], MS_AXIS_DP, mb, 3);
                    cr_assert_eq(sent, expected);
                    bool is_due = (pass == MS_PASS_F && mb == 0 && zero > 0) ||
                                  (pass == MS_PASS_B && mb == 2);
                    cr_assert(!is_due || sent > 0);
                }
            }
            cr_assert(a->parameters == b->parameters && a->tied_B == b->tied_B);
            cr_assert(a->memory.parameter_B == b->memory.parameter_B &&
                      a->memory.gradient_B == b->memory.gradient_B &&
                      a->memory.optimizer_B == b->memory.optimizer_B);
            cr_assert(a->layer_first == b->layer_first && a->layers == b->layers);
        }
        for (int rank = 0; rank < 2; rank++) {
            cr_assert_eq(whole.costs.optimizer_s[rank], cut.costs.optimizer_s[rank]);
        }
        fixture_clear(&whole);
        fixture_clear(&cut);
    }
}

/* Nothing comes before the first part: forward it is a short sequence. */
Test(slices, the_first_is_a_sequence_of_its_own) {
    for (int k = 0; k < MODELS * LAYOUTS; k++) {
        ms_model model = model_of(k / LAYOUTS);
        fixture_costs cut, own;
        choose_layout(&cut, &model, k % LAYOUTS);
        choose_layout(&own, &model, k % LAYOUTS);
        cut.layout.slices = 4;
        lay_out(&cut, &model);
        model.sequence /= 4;
        lay_out(&own, &model);
        for (int stage = 0; stage < 2; stage++) {
            cr_assert_eq(sum_of(&cut, (pass_place){stage, 0, MS_PASS_F}, time_of),
                         sum_of(&own, (pass_place){stage, 0, MS_PASS_F}, time_of));
        }
        fixture_clear(&cut);
        fixture_clear(&own);
    }
}

Test(slices, one_is_the_whole_sequence) {
    ms_model model = model_of(3);
    fixture_costs plain, one;
    choose_layout(&plain, &model, 2);
    choose_layout(&one, &model, 2);
    one.layout.slices = 1;
    lay_out(&plain, &model);
    lay_out(&one, &model);
    cr_assert(plain.costs.slices == 1 && one.costs.slices == 1);
    cr_assert_eq(plain.costs.segment_count, one.costs.segment_count);
    for (int i = 0; i < one.costs.segment_count; i++) {
        cr_assert_eq(plain.costs.segments[i].time_s, one.costs.segments[i].time_s);
    }
    cr_assert_eq(memcmp(plain.costs.stage, one.costs.stage, 2 * sizeof *one.costs.stage), 0);
    fixture_clear(&plain);
    fixture_clear(&one);
}

Test(slices, that_cannot_be_are_refused) {
    const struct {
        ms_model_layout layout;
        const char *expected;
    } ROWS[] = {
        {{.slices = -1}, "schedule.splits is '-1'"},
        {{.slices = 3},
         "sequence of 8192 cannot be cut in 3 parts (schedule.splits 3 x 1): nearest "
         "are 8190 or 8193, or schedule.splits 2"},
        {{.slices = 2, .cp = 2}, "(schedule.splits) beside context parallelism (mesh.cp)"},
        {{.slices = 2, .recompute_parts = MS_RECOMPUTE_PRODUCTS}, "recompute_parts"},
        {{.slices = 8192, .tp = 2, .has_sequence_parallel = true},
         "a slice of a sequence of 1 cannot be cut in 2 parts (tp 2 x 1)"},
    };
    ms_model model = fixture_llama(4, 1024, 16, 4, 4096);
    ms_gpu_type gpu = fixture_a100();
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        ms_model_layout plain = fixture.layout;
        fixture.layout = ROWS[i].layout;
        fixture.layout.tp = ROWS[i].layout.tp > 0 ? ROWS[i].layout.tp : plain.tp;
        fixture.layout.pp = fixture.layout.chunks = fixture.layout.dp = 1;
        fixture.layout.micro_batch = 1;
        fixture_run(&fixture, &model, &gpu);
        cr_assert_eq(fixture.status, MS_E_INPUT, "row %zu", i);
        cr_assert(strstr(fixture.log.text, ROWS[i].expected), "got %s", fixture.log.text);
        fixture_clear(&fixture);
    }
}
