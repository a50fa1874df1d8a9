/* Traces of PyTorch's profiler, small enough to do by hand. */
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "meshsim/kineto.h"

enum { TRACE_B = 16 * 1024, SAID_B = 4096 };

/* A trace under construction, and what was said of it. */
typedef struct fixture {
    ms_arena arena;
    ms_diag diag;
    ms_buffer text;
    char said[SAID_B];
} fixture;

static void listen(void *context, const char *text) {
    fixture *f = context;
    strncat(f->said, text, SAID_B - strlen(f->said) - 1);
}

static void begin(fixture *f, const char *head) {
    ms_arena_init(&f->arena);
    ms_diag_init(&f->diag, listen, f);
    ms_buffer_init(&f->text);
    f->said[0] = '\0';
    ms_buffer_printf(&f->text, "{%s \"traceEvents\": [\n", head);
}

static void add(fixture *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(fixture *f, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ms_buffer_printf(&f->text, "%s,\n", text);
}

/* Work of the GPU: from and for how long, in microseconds. */
static void add_kernel(fixture *f, const char *name, double from, double lasts,
                       const char *arguments) {
    add(f,
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", \"pid\": 0, \"tid\": 7, \"ts\": "
        "%.3f, "
        "\"dur\": %.3f, \"args\": {\"device\": 0, \"stream\": 7%s}}",
        name, from, lasts, arguments);
}

static void add_step(fixture *f, const char *category, int number, double from, double lasts) {
    add(f,
        "{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"ProfilerStep#%d\", \"pid\": 1, \"tid\": 1, "
        "\"ts\": %.3f, \"dur\": %.3f}",
        category, number, from, lasts);
}

static void add_operator(fixture *f, const char *name, int id, const char *arguments) {
    add(f,
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\", \"pid\": 1, \"tid\": 1, \"ts\": 1, "
        "\"dur\": 2, \"args\": {\"External id\": %d, %s}}",
        name, id, arguments);
}

static ms_status read_traces(fixture *f, ms_kineto_trace *trace) {
    static const char *const NAME[] = {"trace.json"};
    ms_kineto_source source = {.files = NAME, .file_count = 1, .steps = 1};
    ms_buffer_puts(&f->text, "{\"ph\": \"i\", \"name\": \"Record Window End\"}]}");
    source.text = ms_buffer_text(&f->text);
    source.text_B = f->text.length;
    return ms_kineto_read(&source, &f->arena, &f->diag, trace);
}

static void end(fixture *f) {
    ms_arena_release(&f->arena);
    ms_buffer_release(&f->text);
}

#define NEAR(a, b)                                                                                 \
    cr_assert_float_eq((a), (b), 1e-12, "%s is %.9g, not %.9g", #a, (double)(a), (double)(b))

static const char PRODUCT[] = "\"Input Dims\": [[64, 32], [32, 16]], \"Input type\": "
                              "[\"c10::BFloat16\", \"c10::BFloat16\"]";
static const char REDUCE[] =
    ", \"External id\": 9, \"Collective name\": \"allreduce\", \"In msg nelems\": 512, \"Out msg "
    "nelems\": 512, \"Group size\": 4, \"dtype\": \"BFloat16\", \"Process Group Name\": \"1\", "
    "\"Process Group Description\": \"mesh_tp\"";

/* Two steps of 100 us: a product beside and one after an all-reduce of which 20 us are exposed, a
 * copy; then a product and an optimizer that run 20 us together, and an all-gather that runs into
 * the time after the steps. */
static void write_two_steps(fixture *f) {
    begin(f,
          "\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H100\"}], "
          "\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3, \"world_size\": 8},");
    add_step(f, "user_annotation", 1, 0, 99);
    add_step(f, "user_annotation", 2, 100, 100);
    add_operator(f, "aten::mm", 1, PRODUCT);
    add_operator(f, "aten::mm", 2, PRODUCT);
    add_kernel(f, "nvjet_hsh_256x128", 10, 20, ", \"External id\": 1");
    add_kernel(f, "void at::native::vectorized_elementwise_kernel<4>", 30, 10, "");
    add_kernel(f, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 25, 35, REDUCE);
    add_kernel(f, "nvjet_hsh_256x128", 60, 30, ", \"External id\": 2");
    add(f, "{\"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"Memcpy HtoD\", \"ts\": 92, "
           "\"dur\": 3, \"args\": {\"stream\": 7, \"device\": 0, \"bytes\": 4}}");
    add_kernel(f, "nvjet_hsh_256x128", 110, 40, "");
    add_kernel(f, "multi_tensor_apply_kernel<FusedAdam>", 130, 40, "");
    add_kernel(f, "ncclDevKernel_AllGather_RING_LL", 190, 20, "");
}

Test(kineto, parts_of_a_step_are_those_done_by_hand) {
    fixture f;
    ms_kineto_trace trace;
    write_two_steps(&f);
    cr_assert_eq(read_traces(&f, &trace), MS_OK, "%s", f.said);
    cr_assert_eq(trace.step_count, 2);
    const ms_kineto_step *first = &trace.steps[0], *second = &trace.steps[1];
    NEAR(first->wall_s, 100e-6);
    NEAR(first->compute_s, 60e-6);
    NEAR(first->class_s[MS_KINETO_GEMM], 50e-6);
    NEAR(first->class_s[MS_KINETO_ELEMENTWISE], 10e-6);
    NEAR(first->communication_s, 35e-6);
    NEAR(first->exposed_s, 20e-6);
    NEAR(first->copy_s, 3e-6);
    NEAR(first->idle_s, 17e-6);
    NEAR(first->busy_s, 83e-6);
    NEAR(second->compute_s, 60e-6);
    NEAR(second->class_s[MS_KINETO_GEMM], 30e-6);
    NEAR(second->class_s[MS_KINETO_OPTIMIZER], 30e-6);
    NEAR(second->exposed_s, 10e-6);
    NEAR(second->idle_s, 30e-6);
    cr_assert(first->number == 1 && second->number == 2 && first->rank == 3);
    NEAR(trace.ranks[0].outside_s, 10e-6);
    cr_assert_eq(trace.ranks[0].world_size, 8);
    cr_assert_str_eq(trace.ranks[0].device, "NVIDIA H100");
    NEAR(trace.mean.exposed_s, 15e-6);
    end(&f);
}

Test(kineto, communication_is_told_by_kind_and_group) {
    fixture f;
    ms_kineto_trace trace;
    write_two_steps(&f);
    cr_assert_eq(read_traces(&f, &trace), MS_OK, "%s", f.said);
    cr_assert_eq(trace.channel_count, 2);
    cr_assert_str_eq(trace.channels[0].kind, "all_reduce");
    cr_assert_str_eq(trace.channels[0].group, "mesh_tp");
    cr_assert_eq(trace.channels[0].group_size, 4);
    NEAR(trace.channels[0].count, 0.5);
    NEAR(trace.channels[0].busy_s, 17.5e-6);
    NEAR(trace.channels[0].exposed_s, 10e-6);
    cr_assert_str_eq(trace.channels[1].kind, "all_gather");
    cr_assert_str_eq(trace.channels[1].group, "");
    NEAR(trace.channels[1].exposed_s, 5e-6);
    cr_assert_str_eq(trace.collectives[0].collective, "allreduce");
    NEAR(trace.collectives[0].size_B, 1024);
    end(&f);
}

Test(kineto, a_product_is_timed_without_communication_beside_it) {
    fixture f;
    ms_kineto_trace trace;
    ms_table table;
    ms_buffer text;
    write_two_steps(&f);
    ms_buffer_init(&text);
    cr_assert_eq(read_traces(&f, &trace), MS_OK, "%s", f.said);
    cr_assert_eq(trace.shape_count, 1);
    cr_assert_eq(trace.shapes[0].count, 2);
    cr_assert_eq(trace.shapes[0].beside, 1);
    cr_assert_eq(ms_kineto_measured(&trace, &f.arena, &table), MS_OK);
    ms_table_write_csv(&table, &text);
    cr_assert_str_eq(ms_buffer_text(&text), "kernel,shape,time\ngemm,64x16x32,30 us\n");
    ms_buffer_release(&text);
    end(&f);
}

Test(kineto, kernels_are_counted_by_name) {
    fixture f;
    ms_kineto_trace trace;
    write_two_steps(&f);
    cr_assert_eq(read_traces(&f, &trace), MS_OK, "%s", f.said);
    cr_assert_eq(trace.kernel_count, 6);
    cr_assert_str_eq(trace.kernels[0].name, "nvjet_hsh_256x128");
    cr_assert_eq(trace.kernels[0].count, 3);
    NEAR(trace.kernels[0].total_s, 90e-6);
    NEAR(trace.kernels[0].mean_s, 30e-6);
    NEAR(trace.kernels[0].min_s, 20e-6);
    NEAR(trace.kernels[0].max_s, 40e-6);
    cr_assert_str_eq(trace.kernels[0].streams, "7");
    end(&f);
}

/* Work of a step runs behind the host: the annotations of the GPU say when. */
Test(kineto, steps_of_the_gpu_go_before_those_of_the_host) {
    fixture f;
    ms_kineto_trace trace;
    begin(&f, "");
    add_step(&f, "user_annotation", 5, 0, 10);
    add_step(&f, "user_annotation", 6, 10, 10);
    add_step(&f, "gpu_user_annotation", 5, 50, 30);
    add_step(&f, "gpu_user_annotation", 5, 55, 35); /* on another stream */
    add_step(&f, "gpu_user_annotation", 6, 100, 40);
    add_kernel(&f, "gemm", 50, 30, "");
    add_kernel(&f, "gemm", 100, 40, "");
    cr_assert_eq(read_traces(&f, &trace), MS_OK, "%s", f.said);
    cr_assert_eq(trace.step_count, 2);
    cr_assert(trace.ranks[0].has_gpu_steps);
    NEAR(trace.steps[0].wall_s, 50e-6);
    NEAR(trace.steps[0].idle_s, 20e-6);
    NEAR(trace.steps[1].wall_s, 40e-6);
    end(&f);
}

Test(kineto, a_trace_without_steps_is_one) {
    fixture f;
    ms_kineto_trace trace;
    begin(&f, "");
    add_kernel(&f, "gemm", 50, 30, "");
    add_kernel(&f, "gemm", 90, 10, "");
    cr_assert_eq(read_traces(&f, &trace), MS_OK, "%s", f.said);
    cr_assert(trace.step_count == 1 && trace.steps[0].number == -1);
    NEAR(trace.steps[0].wall_s, 50e-6);
    NEAR(trace.steps[0].idle_s, 10e-6);
    end(&f);
}

/* Microseconds since 1970 with nanoseconds have more digits than a double. */
Test(kineto, times_are_exact_to_the_nanosecond) {
    fixture f;
    ms_kineto_trace trace;
    begin(&f, "");
    add(&f,
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"ts\": 1700000000000000.001, "
        "\"dur\": 0.003, \"args\": {\"stream\": 7}}");
    add(&f,
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"ts\": 1700000000000000.014, "
        "\"dur\": 1e-3, \"args\": {\"stream\": 7}}");
    cr_assert_eq(read_traces(&f, &trace), MS_OK, "%s", f.said);
    cr_assert_float_eq(trace.steps[0].wall_s, 14e-9, 1e-15);
    cr_assert_float_eq(trace.steps[0].compute_s, 4e-9, 1e-15);
    end(&f);
}

Test(kineto, older_versions_say_what_is_sent_on_the_host_only) {
    fixture f;
    ms_kineto_trace trace;
    begin(&f, "");
    add_operator(
        &f, "record_param_comms", 4,
        "\"Collective name\": \"_allgather_base\", \"dtype\": \"Float\", \"In msg nelems\": "
        "8, \"Out msg nelems\": 32, \"Group size\": 4, \"Process Group Name\": \"7\"");
    add_kernel(&f, "ncclKernel_AllGather_RING_LL_Sum_int8_t", 0, 10, ", \"External id\": 4");
    cr_assert_eq(read_traces(&f, &trace), MS_OK, "%s", f.said);
    cr_assert_eq(trace.collective_count, 1);
    cr_assert_str_eq(trace.collectives[0].group, "7");
    NEAR(trace.collectives[0].size_B, 128);
    end(&f);
}

/* What stands in a table of measured kernels, and what does not. */
Test(kineto, shapes_of_operators) {
    static const struct {
        const char *name, *arguments, *shape;
        bool is_in;
    } CASES[] = {
        {"aten::addmm",
         "\"Input Dims\": [[16], [64, 32], [32, 16]], \"Input type\": [\"c10::Half\", "
         "\"c10::Half\", \"c10::Half\"]",
         "64x16x32", true},
        {"aten::addmm",
         "\"Input Dims\": [[64, 16], [64, 32], [32, 16]], \"Input type\": [\"c10::Half\", "
         "\"c10::Half\", \"c10::Half\"]",
         "64x16x32", false},
        {"aten::bmm",
         "\"Input Dims\": [[8, 64, 32], [8, 32, 16]], \"Input type\": [\"c10::BFloat16\", "
         "\"c10::BFloat16\"]",
         "64x16x32x8", true},
        {"aten::mm", "\"Input Dims\": [[64, 32], [32, 16]], \"Input type\": [\"float\", \"float\"]",
         "64x16x32", false},
        {"aten::mm", "\"Ev Idx\": 1", "aten::mm", false},
        {"aten::mm", "\"Input Dims\": [[64, 32], [33, 16]]", "aten::mm", false},
        {"aten::_flash_attention_forward",
         "\"Input Dims\": [[2, 1024, 16, 128], [2, 1024, 4, 128], [2, 1024, 4, 64], [], [], [], "
         "[], [], []], \"Input type\": [\"c10::BFloat16\"], \"Concrete Inputs\": [\"\", \"\", "
         "\"\", \"\", \"\", \"1024\", \"1024\", \"0.\", \"True\"]",
         "2x1024x16x4x128x64", true},
        {"aten::_scaled_dot_product_cudnn_attention",
         "\"Input Dims\": [[2, 16, 1024, 128], [2, 4, 1024, 128], [2, 4, 1024, 128]], \"Input "
         "type\": [\"c10::BFloat16\"], \"Concrete Inputs\": [\"\", \"\", \"\", \"\", \"True\", "
         "\"0.\", \"False\"]",
         "2x1024x16x4x128x128", false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        fixture f;
        ms_kineto_trace trace;
        begin(&f, "");
        add_operator(&f, CASES[i].name, 1, CASES[i].arguments);
        add_kernel(&f, "k", 0, 10, ", \"External id\": 1");
        add_kernel(&f, "splitKreduce", 10, 2, ", \"External id\": 1");
        cr_assert_eq(read_traces(&f, &trace), MS_OK, "%s", f.said);
        cr_assert_eq(trace.shape_count, 1, "case %zu", i);
        cr_assert_str_eq(trace.shapes[0].shape, CASES[i].shape, "case %zu", i);
        cr_assert_eq(trace.shapes[0].why == NULL, CASES[i].is_in, "case %zu: %s", i,
                     trace.shapes[0].why);
        NEAR(trace.shapes[0].mean_s, 12e-6);
        end(&f);
    }
}

Test(kineto, classes_of_names) {
    static const struct {
        const char *name;
        ms_kineto_class class;
    } CASES[] = {
        {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n", MS_KINETO_GEMM},
        {"nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT", MS_KINETO_GEMM},
        {"void cutlass::device_kernel<flash::FlashAttnFwdSm90<...>>", MS_KINETO_ATTENTION},
        {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop", MS_KINETO_ATTENTION},
        {"void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel", MS_KINETO_ELEMENTWISE},
        {"fused_rotary_embedding_kernel", MS_KINETO_ELEMENTWISE},
        {"void at::native::indexSelectLargeIndex<c10::BFloat16>", MS_KINETO_EMBEDDING},
        {"triton_red_fused__log_softmax_nll_loss_forward_3", MS_KINETO_LOSS},
        {"void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor>", MS_KINETO_OPTIMIZER},
        {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", MS_KINETO_COMMUNICATION},
        {"my_secret_kernel", MS_KINETO_OTHER},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        cr_assert_eq(ms_kineto_class_of(CASES[i].name, strlen(CASES[i].name)), CASES[i].class, "%s",
                     CASES[i].name);
    }
}

/* Texts that are no trace, and the place and reason that are said of them. */
Test(kineto, faults_are_named_with_their_place) {
    static const struct {
        const char *text, *said;
    } CASES[] = {
        {"", "trace.json:1: error: expected JSON, an object with traceEvents, got an empty file"},
        {"[]", "got a list"},
        {"5", "expected an object with traceEvents"},
        {"{}", "no traceEvents"},
        {"{\"traceEvents\": 5}", "expected a list of events, got a value"},
        {"{\"traceEvents\": {}}", "expected a list of events, got an object"},
        {"{\"traceEvents\": [5]}", "trace.json:1: error: expected an event"},
        {"{\"traceEvents\": [[]]}", "expected an event, which is an object, got a list"},
        {"{\"traceEvents\": [\n\n{\"ph\": \"X\", \"ts\": \"early\"}]}",
         "trace.json:3: error: 'ts' of an event: expected a number of microseconds, got the text "
         "'early'"},
        {"{\"traceEvents\": [{\"dur\": [1]}]}",
         "'dur' of an event: expected a number of microseconds, got a list"},
        {"{\"traceEvents\": [{\"ts\": 99999999999999999999}]}",
         "expected a number of microseconds, got '9"},
        {"{\"traceEvents\": []}", "no work of a GPU"},
        {"{\"traceEvents\": [\n{\"ph\": \"X\",", "not valid JSON"},
        {"{\"otherData\": {\"program\": \"meshsim\"}, \"traceEvents\": []}",
         "one that meshsim wrote"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        static const char *const NAME[] = {"trace.json"};
        fixture f;
        ms_kineto_trace trace;
        begin(&f, "");
        const ms_kineto_source source = {.files = NAME,
                                         .file_count = 1,
                                         .steps = 1,
                                         .text = CASES[i].text,
                                         .text_B = strlen(CASES[i].text)};
        cr_assert_eq(ms_kineto_read(&source, &f.arena, &f.diag, &trace), MS_E_INPUT, "case %zu", i);
        cr_assert(strstr(f.said, CASES[i].said) != NULL, "case %zu: %s", i, f.said);
        end(&f);
    }
}

Test(kineto, nesting_has_an_end) {
    fixture f;
    ms_kineto_trace trace;
    begin(&f, "");
    for (int i = 0; i < 1000; i++) {
        ms_buffer_puts(&f.text, "[");
    }
    cr_assert_eq(read_traces(&f, &trace), MS_E_INPUT);
    cr_assert(strstr(f.said, "expected an event") != NULL, "%s", f.said);
    end(&f);
    begin(&f, "\"x\": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[");
    cr_assert_eq(read_traces(&f, &trace), MS_E_INPUT);
    cr_assert(strstr(f.said, "at most 64 levels") != NULL, "%s", f.said);
    end(&f);
}

Test(kineto, a_string_without_end_is_given_up) {
    fixture f;
    ms_kineto_trace trace;
    begin(&f, "");
    ms_buffer_puts(&f.text, "{\"name\": \"");
    for (int i = 0; i < 50000; i++) {
        ms_buffer_puts(&f.text, "0123456789012345678901234567890123456789\\n");
    }
    cr_assert_eq(read_traces(&f, &trace), MS_E_INPUT);
    cr_assert(strstr(f.said, "at most 256 KiB") != NULL, "%s", f.said);
    end(&f);
}

Test(kineto, broken_events_are_left_out_and_told_of) {
    fixture f;
    ms_kineto_trace trace;
    begin(&f, "");
    add_kernel(&f, "gemm", 50, 30, "");
    add_kernel(&f, "gemm", 100, -5, "");
    add(&f, "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"ts\": 5}");
    add(&f,
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"strange thing\", \"ts\": 5, \"dur\": 1}");
    add(&f, "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"ts\": 5, \"dur\": 1, "
            "\"args\": {\"device\": 3}}");
    add_kernel(&f, "gemm", 100, 5, "");
    cr_assert_eq(read_traces(&f, &trace), MS_OK, "%s", f.said);
    cr_assert(strstr(f.said, "trace.json:3: note: 1 events") != NULL, "%s", f.said);
    cr_assert(strstr(f.said, "no 'dur'") != NULL, "%s", f.said);
    cr_assert(strstr(f.said, "2 events are of other GPUs than 0") != NULL, "%s", f.said);
    NEAR(trace.mean.compute_s, 35e-6);
    end(&f);
}
