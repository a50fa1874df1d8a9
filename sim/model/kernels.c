#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/internal.h"

double ms_roofline_s(const ms_gpu_type *gpu, double flop, double bytes, double efficiency,
                     bool *is_memory_bound_out) {
    double arithmetic_s = flop > 0 ? flop / (gpu->peak_flop_per_s * efficiency) : 0;
    double memory_s = bytes > 0 ? bytes / (gpu->hbm_Bps * gpu->memory_efficiency) : 0;
    if (is_memory_bound_out) {
        *is_memory_bound_out = memory_s > arithmetic_s;
    }
    return fmax(arithmetic_s, memory_s) + gpu->kernel_launch_s;
}

/* Output tiles a GEMM library chooses from, as shares of the GPU type's tile, with the throughput
 * of one SM on it relative to the largest. */
typedef struct tile_choice {
    double m_share, n_share;
    double relative;
} tile_choice;

static const tile_choice TILES[] = {
    {1.0, 1.0, 1.00},
    {0.5, 1.0, 0.95},
    {0.5, 0.5, 0.80},
};

/* Share of the SMs' time that falls on wanted elements of C: tiles that stick out over the edge and
 * a last wave that does not fill the GPU lose the rest. */
static double tile_use(double m, double n, double batch, double tile_m, double tile_n, double sms) {
    double tiles = batch * ceil(m / tile_m) * ceil(n / tile_n);
    double waves = ceil(tiles / sms);
    return batch * m * n / (waves * sms * tile_m * tile_n);
}

/* Best use over the tiles a library can choose, relative to the largest tile's full throughput. */
static double best_tile_use(const ms_gpu_type *gpu, double m, double n, double batch) {
    double best = 0;
    for (size_t i = 0; i < sizeof TILES / sizeof TILES[0]; i++) {
        double tile_m = gpu->tile_m * TILES[i].m_share;
        double tile_n = gpu->tile_n * TILES[i].n_share;
        double upright = tile_use(m, n, batch, tile_m, tile_n, gpu->sms);
        double lying = tile_use(m, n, batch, tile_n, tile_m, gpu->sms);
        best = fmax(best, fmax(upright, lying) * TILES[i].relative);
    }
    return best;
}

/* Share of the peak a GEMM reaches by arithmetic alone. */
static double gemm_efficiency(const ms_gpu_type *gpu, ms_gemm_shape shape) {
    return gpu->gemm_efficiency * best_tile_use(gpu, shape.m, shape.n, shape.batch) * shape.k /
           (shape.k + gpu->gemm_depth_half);
}

double ms_gemm_time_s(const ms_gpu_type *gpu, double m, double n, double k, double batch,
                      double element_B) {
    double bytes = batch * element_B * (m * k + k * n + m * n);
    double efficiency = gemm_efficiency(gpu, (ms_gemm_shape){m, n, k, batch});
    return ms_roofline_s(gpu, 2 * batch * m * n * k, bytes, efficiency, NULL);
}

void ms_cost_begin(ms_cost_builder *builder) {
    ms_vector_init(&builder->segments, sizeof(ms_segment));
    ms_vector_init(&builder->kernels, sizeof(ms_kernel));
    ms_vector_init(&builder->uses, sizeof(ms_kernel_use));
    builder->layer = -1;
}

void ms_cost_end(ms_cost_builder *builder) {
    ms_vector_release(&builder->segments);
    ms_vector_release(&builder->kernels);
    ms_vector_release(&builder->uses);
}

bool ms_cost_failed(const ms_cost_builder *builder) {
    return builder->segments.failed || builder->kernels.failed || builder->uses.failed;
}

static ms_segment *last_segment(ms_cost_builder *builder) {
    if (ms_cost_failed(builder) || builder->segments.count == 0) {
        return NULL;
    }
    return &MS_AT(&builder->segments, ms_segment, builder->segments.count - 1);
}

void ms_cost_compute(ms_cost_builder *builder) {
    ms_segment *last = last_segment(builder);
    if (last && builder->segments.count > builder->pass_first && !last->is_collective &&
        last->layer == builder->layer && last->is_recompute == builder->is_recompute) {
        return;
    }
    ms_segment segment = {.is_recompute = builder->is_recompute,
                          .layer = builder->layer,
                          .use_first = (int)builder->uses.count};
    ms_vector_add(&builder->segments, &segment, 1);
}

/* Index of a kernel in the table, added if it is new; -1 when memory ran out. */
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

/* Count one more call of a kernel in the open segment. */
static void use_kernel(ms_cost_builder *builder, const ms_kernel *kernel) {
    ms_segment *segment = last_segment(builder);
    int index = segment ? find_kernel(builder, kernel) : -1;
    if (index < 0) {
        return;
    }
    segment->time_s += kernel->time_s;
    segment->flop += kernel->flop;
    segment->bytes_moved += kernel->bytes;
    for (int i = segment->use_first; i < segment->use_first + segment->uses; i++) {
        ms_kernel_use *use = &MS_AT(&builder->uses, ms_kernel_use, i);
        if (use->kernel == index) {
            use->calls++;
            return;
        }
    }
    ms_kernel_use use = {.kernel = index, .calls = 1};
    ms_vector_add(&builder->uses, &use, 1);
    segment->uses++;
}

void ms_cost_fused(ms_cost_builder *builder, const char *name, ms_fused_work work) {
    ms_kernel kernel = {.name = name, .shape = work.shape, .flop = work.flop, .bytes = work.bytes};
    kernel.time_s = ms_roofline_s(builder->gpu, work.flop, work.bytes, work.efficiency,
                                  &kernel.is_memory_bound);
    use_kernel(builder, &kernel);
}

void ms_cost_memory(ms_cost_builder *builder, const char *name, double bytes) {
    char shape[40];
    snprintf(shape, sizeof shape, "%.0f B", bytes);
    ms_cost_fused(builder, name, (ms_fused_work){0, bytes, 1, shape});
}

/* result_B: bytes moved per element of C. */
static void add_gemm(ms_cost_builder *builder, const char *name, ms_gemm_shape shape,
                     double result_B) {
    char text[96];
    snprintf(text, sizeof text, shape.batch > 1 ? "%.0fx%.0fx%.0f x %.0f" : "%.0fx%.0fx%.0f",
             shape.m, shape.n, shape.k, shape.batch);
    double operands = shape.m * shape.k + shape.k * shape.n;
    double bytes =
        shape.batch * (builder->shard.element_B * operands + result_B * shape.m * shape.n);
    ms_cost_fused(builder, name,
                  (ms_fused_work){2 * shape.batch * shape.m * shape.n * shape.k, bytes,
                                  gemm_efficiency(builder->gpu, shape), text});
}

void ms_cost_gemm(ms_cost_builder *builder, const char *name, ms_gemm_shape shape) {
    add_gemm(builder, name, shape, builder->shard.element_B);
}

void ms_cost_gemm_accumulate(ms_cost_builder *builder, const char *name, ms_gemm_shape shape) {
    add_gemm(builder, name, shape, 2 * builder->shard.accumulation_B);
}

void ms_cost_collective(ms_cost_builder *builder, ms_coll_kind kind, double bytes) {
    if (builder->layout->tp == 1) {
        return;
    }
    ms_segment segment = {.is_collective = true,
                          .is_recompute = builder->is_recompute,
                          .layer = builder->layer,
                          .axis = MS_AXIS_TP,
                          .coll = kind,
                          .coll_B = bytes,
                          .use_first = (int)builder->uses.count};
    ms_vector_add(&builder->segments, &segment, 1);
}

void ms_cost_repeat(ms_cost_builder *builder, ms_pass_plan plan, int layer) {
    for (int i = 0; i < plan.count && !ms_cost_failed(builder); i++) {
        ms_segment segment = MS_AT(&builder->segments, ms_segment, plan.first + i);
        segment.layer = layer;
        ms_vector_add(&builder->segments, &segment, 1);
    }
}
