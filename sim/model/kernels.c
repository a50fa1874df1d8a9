/* Times of kernels on a GPU type: a roofline (the longer of arithmetic and memory traffic, plus the
 * launch), with the efficiency of matrix products by their shape. Each kernel that a model under
 * construction calls is added to the open compute segment, and to the table of kernels. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model/buckets.h"

/* Time of `flop` at a share of the peak, at the clock that the power limit leaves [s]. */
static double arithmetic_s(const ms_gpu_type *gpu, double flop, double efficiency) {
    return flop > 0 ? flop / (gpu->peak_flop_per_s * gpu->clock.sustained * efficiency) : 0;
}

/* Time of `bytes` at the memory bandwidth that kernels reach [s]. */
static double memory_s(const ms_gpu_type *gpu, double bytes) {
    return bytes > 0 ? bytes / (gpu->hbm_Bps * gpu->memory_efficiency) : 0;
}

/* Time of work by the roofline: the longer of arithmetic and memory traffic, plus the launch
 * [s]. */
double ms_roofline_s(const ms_gpu_type *gpu, double flop, double bytes, double efficiency,
                     bool *is_memory_bound_out) {
    double computing_s = arithmetic_s(gpu, flop, efficiency), moving_s = memory_s(gpu, bytes);
    if (is_memory_bound_out) {
        *is_memory_bound_out = moving_s > computing_s;
    }
    return fmax(computing_s, moving_s) + gpu->kernel_launch_s;
}

/* Output tiles a GEMM library chooses from, as shares of the longer and the shorter side of the GPU
 * type's tile, with the throughput of one SM on it relative to the largest.
 * Source: tile sizes as CUTLASS offers them; relative throughputs, IDLE_WAVE and EXPOSED_RESULT
 * fitted once to 183 GEMM shapes measured on an A100 PCIe (SimuMax, MooreThreads, system file
 * a100_pcie): mean absolute error 2.8 %, median 1.1 %, 9 in 10 below 9 %. */
typedef struct tile_choice {
    double long_share, short_share;
    double relative; /* throughput of an SM over that on the first tile */
} tile_choice;

static const tile_choice TILES[] = {
    {1.0, 1.0, 1.00}, {0.5, 1.0, 0.88}, {0.5, 0.5, 0.70}, {0.25, 0.5, 0.50}};

/* Share of the time of a last wave's idle SMs that is lost. Libraries split the inner dimension and
 * start tiles early, which wins back a quarter. */
static const double IDLE_WAVE = 0.75;

/* Share of the traffic for accumulating into a result that arithmetic does not hide. The writing of
 * a plain result is not part of it: the depth ramp (gemm_efficiency) includes that. */
static const double EXPOSED_RESULT = 0.5;

/* Share of the SMs' time that falls on elements of C. The rest is lost to tiles that stick out over
 * C's edge, and to a last wave of tiles that does not fill the GPU. */
static double tile_use(ms_gemm_shape shape, double tile_m, double tile_n, double sms) {
    double tiles = shape.batch * ceil(shape.m / tile_m) * ceil(shape.n / tile_n);
    double waves = tiles / sms;
    waves += IDLE_WAVE * (ceil(waves) - waves);
    return shape.batch * shape.m * shape.n / (waves * sms * tile_m * tile_n);
}

/* Best tile_use over the tiles that a library can choose, relative to the full throughput of the
 * largest tile. */
static double best_tile_use(const ms_gpu_type *gpu, ms_gemm_shape shape) {
    double long_side = fmax(gpu->tile_m, gpu->tile_n);
    double short_side = fmin(gpu->tile_m, gpu->tile_n);
    double best = 0;
    for (size_t i = 0; i < sizeof TILES / sizeof TILES[0]; i++) { /* lengthwise and across */
        double longer = long_side * TILES[i].long_share;
        double shorter = short_side * TILES[i].short_share;
        double use = fmax(tile_use(shape, longer, shorter, gpu->sms),
                          tile_use(shape, shorter, longer, gpu->sms));
        best = fmax(best, use * TILES[i].relative);
    }
    return best;
}

/* Largest power of two that divides the bytes of a row of `elements`, up to the 16 bytes of a copy
 * [B]. 0 elements count as aligned, and so does a number that is not whole: as the mean of several
 * ranks it is no row's length. */
static double alignment_B(double elements, double element_B) {
    const double COPY_B = 16;
    double bytes = element_B;
    double count = elements == floor(elements) ? elements : 0;
    while (bytes < COPY_B && fmod(count, 2) == 0) {
        bytes *= 2;
        count /= 2;
    }
    return fmin(bytes, COPY_B);
}

/* Share of a product's throughput that is left when its rows are not aligned to the 16 bytes that
 * an SM copies at a time. The GPU type gives the share at 2 bytes, three halvings below; each
 * halving takes the same factor. Batched products may have no kernel with matrix units for such
 * rows, and run at the vector units' rate. Source: NVIDIA, Matrix Multiplication Background User's
 * Guide, section 2.2 (dimensions in multiples of 16 bytes); steps between are an interpolation. */
static double aligned_share(const ms_gpu_type *gpu, ms_gemm_shape shape, double element_B) {
    double bytes = fmin(fmin(alignment_B(shape.m, element_B), alignment_B(shape.n, element_B)),
                        alignment_B(shape.k, element_B));
    if (bytes >= 16) {
        return 1;
    }
    double vector_flop_per_s = gpu->products.unaligned.batched_flop_per_s;
    return shape.batch > 1 && vector_flop_per_s > 0
               ? vector_flop_per_s / gpu->peak_flop_per_s
               : pow(gpu->products.unaligned.share, log2(16 / bytes) / 3);
}

/* Share of the peak of 16 bits that a matrix product reaches where arithmetic bounds it. The last
 * factor is the depth ramp: at an inner dimension of depth_half half of the efficiency is left. A
 * tile begins and ends in the same time however fast it multiplies, so depth_half grows with the
 * operands' speed. */
static double gemm_efficiency(const ms_gpu_type *gpu, ms_gemm_shape shape, ms_operands operands) {
    double depth_half = gpu->gemm_depth_half * operands.speed;
    return gpu->gemm_efficiency * operands.speed * best_tile_use(gpu, shape) *
           aligned_share(gpu, shape, operands.element_B) * shape.k / (shape.k + depth_half);
}

/* Time of a matrix product in 16 bits by the cost model [s], without what only a job sets, such as
 * products in fp8. */
double ms_gemm_time_s(const ms_gpu_type *gpu, ms_gemm_shape shape, double element_B) {
    double elements = shape.m * shape.k + shape.k * shape.n + shape.m * shape.n;
    const ms_operands plain = {.element_B = element_B, .speed = 1};
    return ms_roofline_s(gpu, 2 * shape.batch * shape.m * shape.n * shape.k,
                         shape.batch * element_B * elements, gemm_efficiency(gpu, shape, plain),
                         NULL);
}

/* Write the label of a kernel's shape, as snprintf does; an outline has no use for it and gets
 * "". */
static __attribute__((format(printf, 4, 5))) void
write_shape(const ms_cost_builder *builder, char *text, size_t size, const char *format, ...) {
    va_list values;
    text[0] = '\0';
    if (!builder->wanted.is_outline) {
        va_start(values, format);
        vsnprintf(text, size, format, values);
        va_end(values);
    }
}

/* Index of a kernel (name and shape) in the table of kernels, to which it is added if it is new; -1
 * when memory ran out. */
static int find_kernel(ms_cost_builder *builder, const ms_kernel *kernel) {
    for (size_t i = 0; i < builder->kernels.count; i++) {
        const ms_kernel *known = &MS_AT(&builder->kernels, ms_kernel, i);
        if (strcmp(known->name, kernel->name) == 0 && strcmp(known->shape, kernel->shape) == 0) {
            return (int)i;
        }
    }
    ms_kernel copy = *kernel;
    copy.shape = ms_arena_strdup(builder->arena, kernel->shape);
    if (!copy.shape) {
        builder->kernels.failed = true;
        return -1;
    }
    return ms_vector_add(&builder->kernels, &copy, 1) ? (int)builder->kernels.count - 1 : -1;
}

/* Time that a kernel takes longer in an overlapped pair of passes, where communication holds SMs
 * for itself [s]. Arithmetic has only the other SMs; a memory-bound kernel takes no longer, because
 * few SMs are enough for the whole bandwidth. */
static double pair_extra_s(const ms_cost_builder *builder, const ms_kernel *kernel) {
    double sms = builder->gpu->sms, held = builder->layout->communication_sms;
    double busy_s = kernel->time_s - builder->gpu->kernel_launch_s;
    return kernel->is_memory_bound ? 0 : busy_s * held / (sms - held);
}

/* Add one call of a kernel to the open segment: its time, FLOP, bytes and launch, and unless an
 * outline is built, its use in the table of kernels. A host that waits behind every kernel makes
 * each call longer by its launch. */
static void use_kernel(ms_cost_builder *builder, const ms_kernel *called_kernel) {
    ms_segment *segment = ms_cost_last_segment(builder);
    ms_kernel with_launch = *called_kernel;
    with_launch.time_s += builder->layout->blocking_launch_s;
    const ms_kernel *kernel = &with_launch;
    bool is_listed = segment && !builder->wanted.is_outline;
    int index = is_listed ? find_kernel(builder, kernel) : -1;
    if (!segment || (is_listed && index < 0)) {
        return;
    }
    segment->time_s += kernel->time_s;
    segment->pair_extra_s += pair_extra_s(builder, called_kernel);
    segment->flop += kernel->flop;
    segment->bytes_moved += kernel->bytes;
    ms_segment_kernels *called = &segment->kernels;
    called->launches++;
    if (!is_listed) {
        called->uses++;
        return;
    }
    for (int i = called->use_first; i < called->use_first + called->uses; i++) {
        ms_kernel_use *use = &MS_AT(&builder->uses, ms_kernel_use, i);
        if (use->kernel == index) {
            use->calls++;
            return;
        }
    }
    ms_kernel_use use = {.kernel = index, .calls = 1};
    ms_vector_add(&builder->uses, &use, 1);
    called->uses++;
}

/* Time of a kernel: the roofline's, plus that of the exposed bytes [s]. */
double ms_work_time_s(const ms_gpu_type *gpu, const ms_fused_work *work,
                      bool *is_memory_bound_out) {
    double time_s =
        ms_roofline_s(gpu, work->flop, work->bytes, work->efficiency, is_memory_bound_out);
    return time_s + memory_s(gpu, work->exposed_B);
}

/* Efficiency at the pace of the job's slowest GPU: ranks wait for each other in every layer,
 * microbatch or step, so all go at that pace. */
static double slowed(const ms_cost_builder *builder, double efficiency) {
    return efficiency / fmax(1, builder->layout->slowest_gpu);
}

/* Add a kernel at the pace of the slowest GPU, with its measured ratio if there is one. */
void ms_cost_fused(ms_cost_builder *builder, const char *name, ms_fused_work work) {
    work.efficiency = slowed(builder, work.efficiency);
    ms_kernel kernel = {.name = name, .shape = work.shape, .flop = work.flop, .bytes = work.bytes};
    kernel.time_s = ms_work_time_s(builder->gpu, &work, &kernel.is_memory_bound);
    kernel.time_s *= work.measured > 0 ? work.measured : 1;
    use_kernel(builder, &kernel);
}

double ms_memory_time_s(const ms_gpu_type *gpu, double bytes) {
    return ms_roofline_s(gpu, 0, bytes, 1, NULL);
}

/* The cost model's time of a memory-bound kernel of sizes[0] bytes [s], for ms_measured_ratio.
 * context: the builder. */
static double memory_curve_s(const void *context, const double *sizes) {
    const ms_cost_builder *builder = context;
    return ms_memory_time_s(builder->gpu, sizes[0]);
}

void ms_cost_memory(ms_cost_builder *builder, const char *name, double bytes) {
    ms_cost_slow_memory(builder, name, bytes, 1);
}

/* Add a memory-bound kernel that takes `slower` times as long as its bytes at full speed. */
void ms_cost_slow_memory(ms_cost_builder *builder, const char *name, double bytes, double slower) {
    char shape[40];
    write_shape(builder, shape, sizeof shape, "%.0f B", bytes);
    ms_fused_work work = {
        .bytes = bytes, .exposed_B = (slower - 1) * bytes, .efficiency = 1, .shape = shape};
    work.measured = ms_measured_ratio(builder->gpu->measured, MS_MEASURED_MEMORY, &bytes,
                                      memory_curve_s, builder);
    ms_cost_fused(builder, name, work);
}

/* Operands of a matrix product, and the traffic of its result. */
typedef struct gemm_kind {
    ms_operands operands;
    double result_B; /* bytes moved per element of C: written, or read and written [B] */
} gemm_kind;

/* FLOP, bytes and efficiency of a matrix product. Of the traffic for adding to a result, a share is
 * exposed (EXPOSED_RESULT). */
static ms_fused_work gemm_work(const ms_cost_builder *builder, ms_gemm_shape shape,
                               gemm_kind kind) {
    double operand_B = kind.operands.element_B + kind.operands.scale_B;
    double operands = shape.m * shape.k + shape.k * shape.n;
    double results = shape.batch * shape.m * shape.n;
    return (ms_fused_work){.flop = 2 * results * shape.k,
                           .bytes = shape.batch * operand_B * operands + kind.result_B * results,
                           .exposed_B = EXPOSED_RESULT *
                                        (kind.result_B - builder->shard.element_B) * results,
                           .efficiency = gemm_efficiency(builder->gpu, shape, kind.operands)};
}

/* A matrix product without its shape, for gemm_curve_s. */
typedef struct gemm_curve {
    const ms_cost_builder *builder;
    gemm_kind kind;
} gemm_curve;

/* The cost model's time of a matrix product [s], for ms_measured_ratio. context: a gemm_curve.
 * sizes: [4] m, n, k and batch. */
static double gemm_curve_s(const void *context, const double *sizes) {
    const gemm_curve *curve = context;
    ms_gemm_shape shape = {sizes[0], sizes[1], sizes[2], sizes[3]};
    ms_fused_work work = gemm_work(curve->builder, shape, curve->kind);
    return ms_work_time_s(curve->builder->gpu, &work, NULL);
}

/* Measured tables have products in 16 bits only. */
enum { MEASURED_B = 2 };

/* Measured time of a product over its time by the cost model; 0: nothing near enough is
 * measured. */
static double measured_gemm(const ms_cost_builder *builder, ms_gemm_shape shape, gemm_kind kind) {
    const gemm_curve curve = {.builder = builder, .kind = kind};
    const double sizes[] = {shape.m, shape.n, shape.k, shape.batch};
    bool is_added = kind.result_B > builder->shard.element_B;
    return kind.operands.element_B != MEASURED_B
               ? 0
               : ms_measured_ratio(builder->gpu->measured,
                                   is_added ? MS_MEASURED_GEMM_ACCUMULATE : MS_MEASURED_GEMM, sizes,
                                   gemm_curve_s, &curve);
}

/* Add a matrix product, with its label and its measured ratio, to the open segment. */
static void add_gemm(ms_cost_builder *builder, const char *name, ms_gemm_shape shape,
                     gemm_kind kind) {
    char text[96];
    if (shape.batch > 1) {
        write_shape(builder, text, sizeof text, "%.0fx%.0fx%.0f x %.0f", shape.m, shape.n, shape.k,
                    shape.batch);
    } else {
        write_shape(builder, text, sizeof text, "%.0fx%.0fx%.0f", shape.m, shape.n, shape.k);
    }
    ms_fused_work work = gemm_work(builder, shape, kind);
    work.measured = measured_gemm(builder, shape, kind);
    work.shape = text;
    ms_cost_fused(builder, name, work);
}

void ms_cost_gemm(ms_cost_builder *builder, const char *name, ms_gemm_shape shape) {
    add_gemm(
        builder, name, shape,
        (gemm_kind){ms_operands_of(builder, (ms_product_kind)0, false), builder->shard.element_B});
}

void ms_cost_product(ms_cost_builder *builder, const char *name, ms_gemm_shape shape) {
    add_gemm(builder, name, shape,
             (gemm_kind){ms_operands_of(builder, builder->product.kind, false),
                         builder->shard.element_B});
}

/* Add the product for a weight's gradient, with the gradient's accumulation. Fused accumulation
 * reads and writes the gradient buffer in place of writing a result. A gradient that is made anew
 * for every microbatch (ms_makes_gradients_anew) is not accumulated. */
void ms_cost_weight_gradient(ms_cost_builder *builder, const char *name, ms_gemm_shape shape) {
    bool is_fused =
        builder->model->has_fused_accumulation && !ms_makes_gradients_anew(builder->layout);
    add_gemm(builder, name, shape,
             (gemm_kind){ms_operands_of(builder, builder->product.kind, true),
                         is_fused ? 2 * builder->shard.accumulation_B : builder->shard.element_B});
    if (!is_fused) {
        ms_cost_accumulate(builder, shape.m * shape.n);
    }
    ms_buckets_count_event(builder, shape.m * shape.n, 1, false);
}

/* Time of the products of `experts` experts [s]: a library call for each, which run behind each
 * other on a few streams. A call reads its weights before its first multiplication and writes its
 * results after its last one; other calls' arithmetic hides a part of that traffic only. So a share
 * (grouped.exposed) of the shorter of arithmetic and traffic adds to the longer one. The host
 * issues the calls one after the other, each in call_s. Source: Transformer Engine,
 * general_grouped_gemm (a cuBLAS call for each expert over four streams); the GPU type's file says
 * what it is fitted to. */
static double grouped_time_s(const ms_gpu_type *gpu, const ms_fused_work *work, double experts,
                             bool *is_memory_bound_out) {
    double shorter_s =
        fmin(arithmetic_s(gpu, work->flop, work->efficiency), memory_s(gpu, work->bytes));
    double time_s =
        ms_roofline_s(gpu, work->flop, work->bytes, work->efficiency, is_memory_bound_out) +
        fmax(gpu->products.grouped.exposed * shorter_s, memory_s(gpu, work->exposed_B));
    return fmax(time_s, experts * gpu->products.grouped.call_s);
}

/* Work of the products of a group of experts. The number of tokens counts rows of activations or
 * gradients, never elements of a row, so it needs no alignment. That dimension's part of
 * gemm_work's efficiency is taken out, by an equal shape in which it is 0 (aligned). */
static ms_fused_work grouped_work(const ms_cost_builder *builder, ms_gemm_shape shape,
                                  bool is_weight_gradient, gemm_kind kind) {
    double element_B = kind.operands.element_B;
    ms_gemm_shape rows = {.m = is_weight_gradient ? shape.m : 0,
                          .n = shape.n,
                          .k = is_weight_gradient ? 0 : shape.k,
                          .batch = 1};
    ms_fused_work work = gemm_work(builder, shape, kind);
    work.efficiency *= aligned_share(builder->gpu, rows, element_B) /
                       aligned_share(builder->gpu, shape, element_B);
    work.efficiency = slowed(builder, work.efficiency);
    return work;
}

/* Add a grouped product of experts. The segment gets the mean rank's FLOP and bytes and the busiest
 * rank's time, as the group waits for that rank. */
void ms_cost_grouped(ms_cost_builder *builder, const char *name, ms_grouped_gemm work) {
    bool is_fused = work.is_weight_gradient && builder->model->has_fused_accumulation &&
                    !ms_makes_gradients_anew(builder->layout);
    gemm_kind kind = {ms_operands_of(builder, MS_PRODUCT_EXPERTS, work.is_weight_gradient),
                      is_fused ? 2 * builder->shard.accumulation_B : builder->shard.element_B};
    ms_fused_work mean = grouped_work(builder, work.mean, work.is_weight_gradient, kind);
    ms_fused_work busiest = grouped_work(builder, work.busiest, work.is_weight_gradient, kind);
    char text[96]; /* enough digits to tell the loads of two layers apart */
    write_shape(builder, text, sizeof text, "%.12gx%.12gx%.12g x %.0f", work.busiest.m,
                work.busiest.n, work.busiest.k, work.busiest.batch);
    ms_kernel kernel = {.name = name, .shape = text, .flop = mean.flop, .bytes = mean.bytes};
    kernel.time_s =
        grouped_time_s(builder->gpu, &busiest, work.busiest.batch, &kernel.is_memory_bound);
    use_kernel(builder, &kernel);
    if (work.is_weight_gradient && !is_fused) {
        ms_cost_accumulate(builder, work.mean.m * work.mean.n * work.mean.batch);
    }
    if (work.is_weight_gradient) {
        ms_buckets_count_event(builder, work.mean.m * work.mean.n, work.mean.batch, true);
    }
}

/* Add a memory-bound kernel over experts' copies, with the mean rank's bytes and the busiest rank's
 * time. No measured ratio applies: tables have no such kernels. */
void ms_cost_uneven(ms_cost_builder *builder, const char *name, double mean_B, double busiest_B,
                    double slower) {
    char shape[40];
    write_shape(builder, shape, sizeof shape, "%.15g B", busiest_B);
    ms_kernel kernel = {.name = name, .shape = shape, .bytes = mean_B, .is_memory_bound = true};
    kernel.time_s = ms_roofline_s(builder->gpu, 0, slower * busiest_B, 1, NULL);
    use_kernel(builder, &kernel);
}

/* Add the kernel that adds a microbatch's gradients to the accumulated ones. With cast gradients, a
 * kernel before it writes a copy in the gradient buffer's type, which the addition reads. */
void ms_cost_accumulate(ms_cost_builder *builder, double parameters) {
    const ms_shard *shard = &builder->shard;
    if (ms_makes_gradients_anew(builder->layout)) {
        return;
    }
    const ms_model *model = builder->model;
    bool has_cast = model->kernel_traits.has_cast_gradients && !model->has_fused_accumulation &&
                    shard->accumulation_B > shard->element_B;
    if (has_cast) {
        ms_cost_memory(builder, "gradient_cast",
                       parameters * (shard->element_B + shard->accumulation_B));
    }
    double added_B = has_cast ? shard->accumulation_B : shard->element_B;
    ms_cost_memory(builder, "gradient_add", parameters * (added_B + 2 * shard->accumulation_B));
}
