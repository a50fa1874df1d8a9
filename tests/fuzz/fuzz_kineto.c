/* libFuzzer target: any bytes as a trace of PyTorch's profiler. What is refused is explained; of
 * what is read every step is the sum of its parts, and tables hold what they promise. */
#include <math.h>

#include "fuzz_target.h"
#include "meshsim/kineto.h"

static bool is_near(double a, double b, double scale) {
    return fabs(a - b) <= 1e-9 * (fabs(scale) + 1e-9);
}

static void check_step(const ms_kineto_step *step) {
    double classes = 0;
    for (int i = 0; i < MS_KINETO_COMPUTE_COUNT; i++) {
        require(step->class_s[i] >= 0);
        classes += step->class_s[i];
    }
    require(is_near(classes, step->compute_s, step->wall_s));
    require(is_near(step->compute_s + step->exposed_s + step->copy_s + step->idle_s, step->wall_s,
                    step->wall_s));
    require(step->communication_s >= step->exposed_s && step->busy_s <= step->wall_s * (1 + 1e-9));
}

static void check_trace(const ms_kineto_trace *trace, ms_arena *arena) {
    double exposed_s = 0;
    ms_table table;
    require(trace->rank_count == 1 && trace->step_count >= 1 && trace->kernel_count >= 1);
    for (size_t i = 0; i < trace->step_count; i++) {
        check_step(&trace->steps[i]);
    }
    for (size_t i = 0; i < trace->channel_count; i++) {
        exposed_s += trace->channels[i].exposed_s;
        require(trace->channels[i].exposed_s <= trace->channels[i].busy_s * (1 + 1e-9));
    }
    require(is_near(exposed_s, trace->mean.exposed_s, trace->mean.wall_s));
    for (size_t i = 0; i < trace->kernel_count; i++) {
        const ms_kineto_kernel *kernel = &trace->kernels[i];
        require(kernel->count >= 1 && kernel->min_s <= kernel->max_s && kernel->min_s >= 0);
    }
    require(ms_kineto_measured(trace, arena, &table) == MS_OK && table.count <= trace->shape_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const NAME[] = {"fuzz.json"};
    const ms_kineto_source source = {.files = NAME,
                                     .file_count = 1,
                                     .steps = 1,
                                     .text = size == 0 ? "" : (const char *)data,
                                     .text_B = size};
    ms_arena arena;
    ms_diag diag;
    ms_kineto_trace trace;
    ms_arena_init(&arena);
    ms_diag_init(&diag, discard, NULL);
    ms_status status = ms_kineto_read(&source, &arena, &diag, &trace);
    require((status == MS_OK) == (diag.errors == 0));
    if (status == MS_OK) {
        check_trace(&trace, &arena);
    } else {
        require(status == MS_E_INPUT);
    }
    ms_arena_release(&arena);
    return 0;
}
