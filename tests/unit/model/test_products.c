/* Products in fewer bits: what they, their casts and what is kept of them come to, by hand. */
#include "fixture.h"

enum { HIDDEN = 1024, TOKENS = 2048 };
static const double N = TOKENS, H = HIDDEN;

/* In fp8 as Transformer Engine does it, with one scale per tensor of the steps before. */
static ms_precision fp8(void) {
    ms_precision precision = fixture_precision();
    precision.products = (ms_products){.format = MS_PRODUCT_FP8,
                                       .scaling = MS_SCALING_DELAYED,
                                       .weight_gradients = MS_TYPE_OF_PRODUCTS,
                                       .kept = MS_TYPE_OF_PRODUCTS,
                                       .tensor_gathers = MS_TYPE_OF_PRODUCTS};
    return precision;
}

/* A GPU that takes no time but for memory traffic, 1 B/s; or none but for arithmetic, whose
 * products in fp8 are three times as fast. */
static ms_gpu_type gpu_of_bytes(void) {
    ms_gpu_type gpu = fixture_ideal();
    gpu.peak_flop_per_s = 1e300;
    gpu.hbm_Bps = 1;
    for (int i = MS_PRODUCT_FP8; i < MS_PRODUCT_COUNT; i++) {
        gpu.products.of[i] = (ms_product_rate){.peak_flop_per_s = 1e300,
                                               .sustained_clock = 1,
                                               .gemm_efficiency = 1,
                                               .layouts = MS_LAYOUTS_TN};
    }
    return gpu;
}

static ms_gpu_type gpu_of_flop(void) {
    ms_gpu_type gpu = fixture_ideal();
    gpu.peak_flop_per_s = 1;
    gpu.hbm_Bps = 1e300;
    gpu.products.of[MS_PRODUCT_FP8] =
        (ms_product_rate){.peak_flop_per_s = 4, .sustained_clock = 1, .gemm_efficiency = 0.75};
    return gpu;
}

/* One layer without a vocabulary: products of 1, 1, 1 and 4 to 3, 1, 4 and 1 times `HIDDEN`. */
static ms_model layer(void) {
    ms_model model = fixture_gpt(1, HIDDEN, 16, 0);
    model.attention = MS_ATTENTION_FUSED;
    model.has_fused_accumulation = true;
    model.dropout = 0;
    return model;
}

static ms_stage_costs lay_out(fixture_costs *fixture, const ms_model *model,
                              const ms_precision *precision, const ms_gpu_type *gpu) {
    fixture_split(fixture, model);
    ms_stage_costs costs;
    ms_status status = ms_model_costs(model, &fixture->layout, precision, gpu, &fixture->arena,
                                      &fixture->diag, &costs);
    cr_assert_eq(status, MS_OK, "%s", fixture->log.text);
    return costs;
}

/* What a choice of precision changes: of the passes and the optimizer [s], and of memory [B]. */
typedef struct change {
    double forward, backward, optimizer;
    double kept_B, parameter_B;
} change;

static change change_of(fixture_costs *fixture, const ms_model *model, const ms_gpu_type *gpu,
                        const ms_precision precisions[2]) {
    ms_stage_costs a = lay_out(fixture, model, &precisions[0], gpu);
    ms_stage_costs b = lay_out(fixture, model, &precisions[1], gpu);
    const ms_stage_memory *before = &a.stage[0].memory, *after = &b.stage[0].memory;
    return (change){.forward = fixture_pass_s(&b, 0, MS_PASS_F) - fixture_pass_s(&a, 0, MS_PASS_F),
                    .backward = fixture_pass_s(&b, 0, MS_PASS_B) - fixture_pass_s(&a, 0, MS_PASS_B),
                    .optimizer = b.optimizer_s[0] - a.optimizer_s[0],
                    .kept_B = after->activation_B - before->activation_B,
                    .parameter_B = after->parameter_B - before->parameter_B};
}

static void expect(double got, double wanted, const char *what) {
    cr_assert_float_eq(got, wanted, 1e-9 * fabs(wanted) + 1e-3, "%s: %.17g, not %.17g", what, got,
                       wanted);
}

/* The two precisions of a change, from a single layer on one GPU. */
static change change_from(ms_precision from, ms_precision to, ms_gpu_type gpu) {
    fixture_costs fixture;
    fixture_init(&fixture);
    ms_model model = layer();
    const ms_precision both[] = {from, to};
    change found = change_of(&fixture, &model, &gpu, both);
    fixture_clear(&fixture);
    return found;
}

/* Forward: both norms write 1 byte instead of 2; the inputs of the output projection (h) and of the
 * second product (4 h) are read in 2 bytes and written twice in 1; operands of products have 1 byte
 * instead of 2. Backward: gradients of 9 h columns are cast in both forms, which sums the biases'
 * gradients on the way; inputs that the norms cast (2 h) are copied; operands again. */
Test(products, a_layer_with_delayed_scaling_moves_what_is_counted_by_hand) {
    change found = change_from(fixture_precision(), fp8(), gpu_of_bytes());
    double weights = 12 * H * H;
    const double SCALES_B = 2 * 4 * 4; /* of a kind of operand, read and written */
    expect(found.forward, -2 * N * H + 5 * N * H * 4 - (7 * N * H + weights) + 2 * SCALES_B,
           "forward");
    double inputs_B = 2 * N * H * 2, gradients_B = 9 * N * H * 4, biases_B = 9 * N * H * 2;
    double operands_B = (9 * N * H + weights) + (9 + 7) * N * H;
    expect(found.backward, gradients_B - biases_B + inputs_B - operands_B + SCALES_B, "backward");
    expect(found.optimizer, weights * 4, "weights, once a step");
}

/* Kernels that write a transposed form reach a quarter of the bandwidth: inputs in both forms (5 h)
 * forward; gradients in both (9 h) and copies of what norms cast (2 h) backward; weights. A GPU
 * type without a figure has no such kernels. */
Test(products, kernels_of_transformer_engine_1_are_slow_where_they_transpose) {
    ms_precision slow = fp8();
    slow.products.casts = MS_CASTS_TRANSFORMER_ENGINE_1;
    ms_gpu_type gpu = gpu_of_bytes();
    expect(change_from(fp8(), slow, gpu).backward, 0, "no figure");
    double *shares = gpu.products.of[MS_PRODUCT_FP8].transposing_casts;
    shares[MS_CASTS_TRANSFORMER_ENGINE_1] = gpu.memory_efficiency / 4;
    change found = change_from(fp8(), slow, gpu);
    expect(found.forward, 3 * 5 * N * H * 4, "forward");
    expect(found.backward, 3 * (9 * N * H * 4 + 2 * N * H * 2), "backward");
    expect(found.optimizer, 3 * 12 * H * H * 4, "weights");
    expect(found.kept_B, 0, "memory");
    slow.products.casts = MS_CASTS_TORCH_COMPILE;
    expect(change_from(fp8(), slow, gpu).forward, 0, "of another generation");
}

/* With scales of rows the kernel that writes the transposed copy is the slow one (read in 2 bytes,
 * written in 1 and 2), not the one that casts the copy. */
Test(products, compiled_kernels_are_slow_where_they_copy_columns) {
    ms_precision rows = fp8(), slow = fp8();
    rows.products.scaling = slow.products.scaling = MS_SCALING_ROWWISE;
    slow.products.casts = MS_CASTS_TORCH_COMPILE;
    ms_gpu_type gpu = gpu_of_bytes();
    double *shares = gpu.products.of[MS_PRODUCT_FP8].transposing_casts;
    shares[MS_CASTS_TORCH_COMPILE] = gpu.memory_efficiency / 2;
    change found = change_from(rows, slow, gpu);
    expect(found.forward, 7 * N * H * 5, "forward");
    expect(found.backward, 9 * N * H * 5, "backward");
}

/* Products with scales of rows are a quarter slower here. */
Test(products, scales_of_rows_have_an_efficiency_of_their_own) {
    ms_gpu_type gpu = gpu_of_flop();
    ms_product_rate *rate = &gpu.products.of[MS_PRODUCT_FP8];
    rate->rowwise_efficiency = 0.8 * rate->gemm_efficiency;
    ms_precision rows = fp8();
    rows.products.scaling = MS_SCALING_ROWWISE;
    double each = 12 * 2 * N * H * H / 3 / 4;
    expect(change_from(fp8(), rows, gpu).forward, each, "forward");
    expect(change_from(fp8(), rows, gpu).backward, 2 * each, "backward");
    expect(change_from(fp8(), fp8(), gpu).forward, 0, "one scale for a tensor");
}

/* Inputs of norms (2 h) and of the attention's kernel stay; those of products have 1 byte: qkv, the
 * MLP's first (h each) and second (4 h) product, and a copy of the attention's result. Weights are
 * there in both forms besides. */
Test(products, inputs_are_kept_in_the_format) {
    change found = change_from(fixture_precision(), fp8(), gpu_of_bytes());
    expect(found.kept_B, N * H * (-1 - 1 - 4 + 1), "activations");
    expect(found.parameter_B, 12 * H * H * 2, "weights");
    ms_precision alone = fp8(), plain = fp8();
    alone.products.parameter_gathers = MS_TYPE_OF_PRODUCTS;
    expect(change_from(fp8(), alone, gpu_of_bytes()).parameter_B, -12 * H * H * 2, "alone");
    plain.products.kept = MS_TYPE_OF_PARAMETERS;
    expect(change_from(fixture_precision(), plain, gpu_of_bytes()).kept_B, 0, "as they were");
}

/* Attention and MLP side by side: 6 and 12 products of h x h are three times as fast as well, the
 * one norm writes 1 byte instead of 2, and what it wrote is kept once. */
Test(products, a_parallel_block_multiplies_in_the_format) {
    const ms_precision both[] = {fixture_precision(), fp8()};
    ms_gpu_type flop = gpu_of_flop(), bytes = gpu_of_bytes();
    ms_model serial = layer(), parallel = layer();
    parallel.has_parallel_block = true;
    fixture_costs fixture;
    fixture_init(&fixture);
    change wanted = change_of(&fixture, &serial, &flop, both);
    change found = change_of(&fixture, &parallel, &flop, both);
    cr_assert_lt(wanted.forward, 0);
    expect(found.forward, wanted.forward, "forward");
    expect(found.backward, wanted.backward, "backward");
    found = change_of(&fixture, &parallel, &bytes, both);
    wanted = change_of(&fixture, &serial, &bytes, both);
    expect(found.forward, wanted.forward + N * H, "a norm less to write in 1 byte");
    expect(found.kept_B, wanted.kept_B + N * H, "kept");
    fixture_clear(&fixture);
}

/* Each tensor is read once more, and no norm casts: inputs of 2 h in both forms at once. */
Test(products, current_scaling_finds_the_maximum_first) {
    ms_precision current = fp8();
    current.products.scaling = MS_SCALING_CURRENT;
    change found = change_from(fp8(), current, gpu_of_bytes());
    expect(found.forward, N * H * (2 * (1 + 4) + 7 * 2) - 64, "forward");
    expect(found.backward, N * H * (9 * 2 - 2 * 2) - 32, "backward"); /* no scales are updated */
    expect(found.optimizer, 12 * H * H * 2, "weights");
}

/* Columns of inputs and gradients are a copy in 2 bytes first, cast after. */
Test(products, rowwise_scaling_copies_before_it_casts_columns) {
    ms_precision current = fp8(), rows = fp8();
    current.products.scaling = MS_SCALING_CURRENT;
    rows.products.scaling = MS_SCALING_ROWWISE;
    change found = change_from(current, rows, gpu_of_bytes());
    expect(found.forward, N * H * 7 * ((3 + 2 + 3) - (2 + 4)), "forward");
    expect(found.backward, N * H * 9 * ((3 + 2 + 3) - (2 + 4)), "backward");
}

/* A scale of 4 bytes for 128 elements goes with every element that is read or written. */
Test(products, blocks_bring_their_scales) {
    ms_precision blocks = fp8();
    blocks.products.scaling = MS_SCALING_BLOCKWISE;
    change found = change_from(fixture_precision(), blocks, gpu_of_bytes());
    double q = 1 + 4.0 / 128, weights = 12 * H * H;
    expect(found.forward, 7 * N * H * (2 + 2 * q) - (7 * N * H + weights) * (2 - q), "forward");
}

/* So does a scale of 1 byte for 32 elements of mxfp8. Source: OCP, Microscaling Formats (MX) 1.0,
 * section 5.2. */
Test(products, microscaling_brings_its_scales) {
    ms_precision micro = fp8();
    micro.products.format = MS_PRODUCT_MXFP8;
    micro.products.scaling = MS_SCALING_CURRENT;
    change found = change_from(fixture_precision(), micro, gpu_of_bytes());
    double q = 1 + 1.0 / 32, weights = 12 * H * H;
    expect(found.forward, 7 * N * H * (2 + 2 * q) - (7 * N * H + weights) * (2 - q), "forward");
}

/* Where products take any layout, one form of a tensor with one scale is enough. */
Test(products, any_layout_saves_the_other_form) {
    ms_gpu_type gpu = gpu_of_bytes();
    change before = change_from(fixture_precision(), fp8(), gpu);
    gpu.products.of[MS_PRODUCT_FP8].layouts = MS_LAYOUTS_ANY;
    change after = change_from(fixture_precision(), fp8(), gpu);
    expect(after.forward - before.forward, -5 * N * H, "forward");
    expect(after.backward - before.backward, -N * H * (9 + 2 * 2), "backward");
    expect(after.optimizer - before.optimizer, -12 * H * H, "weights");
    expect(after.parameter_B - before.parameter_B, -12 * H * H, "held");
}

/* Arithmetic alone: three times as fast, of the kinds and halves that were asked for. */
Test(products, only_the_kinds_asked_for_are_faster) {
    static const struct {
        unsigned kinds;
        ms_product_type weight_gradients;
        double forward, backward; /* products of h x h that are faster */
    } CASES[] = {{0, MS_TYPE_OF_PRODUCTS, 12, 24},
                 {0, MS_TYPE_OF_PARAMETERS, 12, 12},
                 {MS_PRODUCT_PROJECTIONS, MS_TYPE_OF_PRODUCTS, 4, 8},
                 {MS_PRODUCT_MLP, MS_TYPE_OF_PRODUCTS, 8, 16},
                 {MS_PRODUCT_EXPERTS | MS_PRODUCT_HEAD, MS_TYPE_OF_PRODUCTS, 0, 0}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        ms_precision precision = fp8();
        precision.products.kinds = CASES[i].kinds;
        precision.products.weight_gradients = CASES[i].weight_gradients;
        change found = change_from(fixture_precision(), precision, gpu_of_flop());
        double saved = 2 * N * H * H * (1 - 1.0 / 3);
        expect(found.forward, -CASES[i].forward * saved, "forward");
        expect(found.backward, -CASES[i].backward * saved, "backward");
    }
}

/* The depth at which half of the efficiency is left grows with the speed: a tile starts and ends in
 * the same time. */
Test(products, a_faster_product_is_deeper_at_half_its_efficiency) {
    ms_gpu_type gpu = gpu_of_flop();
    gpu.gemm_depth_half = 1024;
    ms_precision precision = fp8();
    precision.products.kinds = MS_PRODUCT_MLP;
    change found = change_from(fixture_precision(), precision, gpu);
    double each = 2 * N * H * 4 * H; /* inner sizes h and 4 h */
    double plain = each * (1 + 1024 / H) + each * (1 + 1024 / (4 * H));
    double fast = (each * (1 + 3072 / H) + each * (1 + 3072 / (4 * H))) / 3;
    expect(found.forward, fast - plain, "forward");
}

/* With scales of blocks products are half as fast here, weight gradients a third; scales of another
 * kind change nothing. A layer has 12 h^2 weights; backward as many products twice. */
Test(products, scales_of_blocks_have_efficiencies_of_their_own) {
    ms_gpu_type gpu = gpu_of_flop();
    ms_product_rate *rate = &gpu.products.of[MS_PRODUCT_FP8];
    rate->blockwise_efficiency = rate->gemm_efficiency / 2;
    ms_precision blocks = fp8();
    blocks.products.scaling = MS_SCALING_BLOCKWISE;
    double each = 12 * 2 * N * H * H / 3;
    expect(change_from(fp8(), blocks, gpu).forward, each, "forward");
    expect(change_from(fp8(), blocks, gpu).backward, 2 * each, "both gradients as others");
    rate->blockwise_weight_efficiency = rate->gemm_efficiency / 3;
    expect(change_from(fp8(), blocks, gpu).forward, each, "forward");
    expect(change_from(fp8(), blocks, gpu).backward, each + 2 * each, "each its own");
    expect(change_from(fp8(), fp8(), gpu).backward, 0, "one scale for a tensor");
}

/* The inputs of a layer's four products have 7 h columns: their second form is not written forward
 * (q), and made of the first one backward (q in, q out). With one scale for a tensor nothing
 * changes. */
Test(products, a_second_form_can_be_made_of_the_first) {
    const double Q = 1 + 4.0 / 128;
    ms_precision early = fp8(), late;
    early.products.scaling = MS_SCALING_BLOCKWISE;
    late = early;
    late.products.second_form = MS_SECOND_FORM_BACKWARD;
    change found = change_from(early, late, gpu_of_bytes());
    expect(found.forward, -7 * N * H * Q, "forward");
    expect(found.backward, 7 * N * H * 2 * Q, "backward");
    expect(found.kept_B, 0, "kept");
    early.products.scaling = late.products.scaling = MS_SCALING_CURRENT;
    expect(change_from(early, late, gpu_of_bytes()).forward, 0, "one scale for a tensor");
}

/* Layers at both ends stay as they were; modules behind the last one do not count as an end. */
Test(products, layers_at_the_ends_can_stay_plain) {
    fixture_costs fixture;
    fixture_init(&fixture);
    ms_model model = layer();
    model.layers = 6;
    ms_gpu_type gpu = gpu_of_flop();
    ms_precision both[] = {fixture_precision(), fp8()};
    both[1].products.first_plain_layers = 2;
    both[1].products.last_plain_layers = 1;
    change found = change_of(&fixture, &model, &gpu, both);
    expect(found.forward, -3 * 12 * 2 * N * H * H * (1 - 1.0 / 3), "three of six layers");
    expect(found.kept_B, 3 * N * H * -5, "kept of three of six layers");
    fixture_clear(&fixture);
}

/* Bytes of the collectives of a kind over an axis in a pass. */
static double collected_B(const ms_stage_costs *costs, ms_pass pass, ms_axis axis,
                          ms_coll_kind kind) {
    ms_pass_plan plan = costs->stage[0].passes[pass];
    double sum = 0;
    for (int i = plan.first; i < plan.first + plan.count; i++) {
        const ms_segment *segment = &costs->segments[i];
        bool counts = segment->is_collective && segment->axis == axis && segment->coll == kind;
        sum += counts ? segment->coll_B : 0;
    }
    return sum;
}

/* Tokens for products are gathered in 1 byte, whatever runs beside them; sums travel in 2. */
Test(products, tp_ranks_gather_what_is_cast) {
    static const ms_tp_overlap OVERLAPS[] = {MS_TP_OVERLAP_NONE, MS_TP_OVERLAP_BULK,
                                             MS_TP_OVERLAP_CHUNKS};
    for (size_t i = 0; i < sizeof OVERLAPS / sizeof OVERLAPS[0]; i++) {
        fixture_costs fixture;
        fixture_init(&fixture);
        fixture.layout.tp = 2;
        fixture.layout.has_sequence_parallel = true;
        fixture.layout.tp_overlap = OVERLAPS[i];
        fixture.layout.tp_chunks = 4;
        ms_model model = layer();
        ms_gpu_type gpu = gpu_of_bytes();
        ms_precision precision = fp8();
        ms_stage_costs costs = lay_out(&fixture, &model, &precision, &gpu);
        const ms_axis tp = MS_AXIS_TP;
        expect(collected_B(&costs, MS_PASS_F, tp, MS_COLL_ALL_GATHER), 2 * N * H, "forward");
        expect(collected_B(&costs, MS_PASS_B, tp, MS_COLL_ALL_GATHER), 4 * N * H, "backward");
        expect(collected_B(&costs, MS_PASS_F, tp, MS_COLL_REDUCE_SCATTER), 2 * N * H * 2, "sums");
        precision.products.tensor_gathers = MS_TYPE_OF_PARAMETERS;
        costs = lay_out(&fixture, &model, &precision, &gpu);
        expect(collected_B(&costs, MS_PASS_F, tp, MS_COLL_ALL_GATHER), 2 * N * H * 2, "in 2 bytes");
        fixture_clear(&fixture);
    }
}

/* Four linear layers' maxima of input and weight forward, of the gradient backward, 4 bytes each,
 * of the layers that are in fewer bits; a pass that gives weights' gradients alone has none. */
Test(products, delayed_scaling_shares_maxima_in_every_pass) {
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.tp = 2;
    fixture.layout.dp = 4;
    ms_model model = layer();
    model.layers = 3;
    ms_gpu_type gpu = gpu_of_bytes();
    ms_precision precision = fp8();
    precision.products.first_plain_layers = 1;
    ms_stage_costs costs = lay_out(&fixture, &model, &precision, &gpu);
    expect(collected_B(&costs, MS_PASS_F, MS_AXIS_DP, MS_COLL_ALL_REDUCE), 2 * 8 * 4, "forward");
    expect(collected_B(&costs, MS_PASS_I, MS_AXIS_DP, MS_COLL_ALL_REDUCE), 2 * 4 * 4, "backward");
    expect(collected_B(&costs, MS_PASS_W, MS_AXIS_DP, MS_COLL_ALL_REDUCE), 0, "weights' gradients");
    double before = collected_B(&costs, MS_PASS_F, MS_AXIS_TP, MS_COLL_ALL_REDUCE);
    precision.products.amax = MS_AMAX_TENSOR;
    costs = lay_out(&fixture, &model, &precision, &gpu);
    expect(collected_B(&costs, MS_PASS_F, MS_AXIS_TP, MS_COLL_ALL_REDUCE) - before, 2 * 8 * 4,
           "among the ranks of a layer");
    precision.products.amax = MS_AMAX_NONE;
    costs = lay_out(&fixture, &model, &precision, &gpu);
    expect(collected_B(&costs, MS_PASS_F, MS_AXIS_DP, MS_COLL_ALL_REDUCE), 0, "none");
    precision.products.scaling = MS_SCALING_CURRENT;
    precision.products.amax = MS_AMAX_REPLICAS;
    costs = lay_out(&fixture, &model, &precision, &gpu);
    expect(collected_B(&costs, MS_PASS_F, MS_AXIS_DP, MS_COLL_ALL_REDUCE), 0, "current");
    fixture_clear(&fixture);
}

/* ZeRO 3 gathers weights of products in 1 byte, norms and biases in 2, and casts no weight at the
 * step's end. */
Test(products, replicas_gather_weights_in_the_format) {
    fixture_costs fixture;
    fixture_init(&fixture);
    fixture.layout.dp = 4;
    fixture.layout.zero = 3;
    ms_model model = layer();
    ms_gpu_type gpu = gpu_of_bytes();
    ms_precision precision = fp8(), whole = fp8();
    precision.products.parameter_gathers = MS_TYPE_OF_PRODUCTS;
    ms_stage_costs a = lay_out(&fixture, &model, &whole, &gpu);
    ms_stage_costs b = lay_out(&fixture, &model, &precision, &gpu);
    double saved = collected_B(&a, MS_PASS_F, MS_AXIS_DP, MS_COLL_ALL_GATHER) -
                   collected_B(&b, MS_PASS_F, MS_AXIS_DP, MS_COLL_ALL_GATHER);
    expect(saved, 12 * H * H, "weights");
    expect(a.optimizer_s[0] - b.optimizer_s[0], 0, "no cast at the step's end");
    double rows = fixture_pass_s(&a, 0, MS_PASS_F) - fixture_pass_s(&b, 0, MS_PASS_F);
    expect(rows, 12 * H * H * 3, "each pass casts what was gathered in 2 bytes");
    fixture_clear(&fixture);
}
