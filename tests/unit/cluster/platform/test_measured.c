/* Measured tables of GPU types: what is read, what is refused, and what lies between rows. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "platform_fixture.h"

/* A folder with a GPU type that names a table of these lines. */
typedef struct table_case {
    char folder[64], type[96], table[96];
    platform_fixture fixture;
    ms_status status;
} table_case;

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

static void open_table(table_case *c, const char *lines) {
    char overrides[160];
    snprintf(c->folder, sizeof c->folder, "/tmp/meshsim-measured-XXXXXX");
    cr_assert_not_null(mkdtemp(c->folder));
    snprintf(c->type, sizeof c->type, "%s/own.yaml", c->folder);
    snprintf(c->table, sizeof c->table, "%s/own.csv", c->folder);
    write_file(c->type, "type: h100-sxm5-80gb\nname: own\nmeasured: own.csv\n");
    if (lines != NULL) {
        write_file(c->table, lines);
    }
    snprintf(overrides, sizeof overrides, "{gpu: {type: %s}}", c->type);
    fixture_init(&c->fixture);
    c->status = fixture_load(&c->fixture, "flat", overrides);
}

static void close_table(table_case *c) {
    unlink(c->type);
    unlink(c->table);
    rmdir(c->folder);
    fixture_release(&c->fixture);
}

/* A cost model by which every kernel takes a second for each element of its first size. */
static double first_size_s(const void *context, const double *sizes) {
    cr_assert_null(context);
    return sizes[0];
}

#define AT(...)                                                                                    \
    (ms_measured_row) {                                                                            \
        .sizes = { __VA_ARGS__, 1, 1 }                                                             \
    }

static double ratio_at(const table_case *c, ms_measured_kernel kernel, ms_measured_row at) {
    return ms_measured_ratio(c->fixture.platform.gpu.measured, kernel, at.sizes, first_size_s,
                             NULL);
}

Test(measured, rows_hold_and_what_lies_between_is_interpolated) {
    table_case c;
    open_table(&c, "kernel,shape,time\n# two products and a repeat\n\ngemm,1024x512x256,2048 s\n"
                   "gemm,4096x512x256,32768 s\n\"gemm\", 64x64x64 , 64 s\ngemm,64x64x64,256 s\n"
                   "gemm_accumulate,64x64x64x8,640 s\nmemory,1000,500 s\n");
    cr_assert_eq(c.status, MS_OK, "%s", ms_buffer_text(&c.fixture.messages));
    /* measured: twice and eight times what the model says; the mean of repeats */
    cr_assert_float_eq(ratio_at(&c, MS_MEASURED_GEMM, AT(1024, 512, 256, 1)), 2, 1e-12);
    cr_assert_float_eq(ratio_at(&c, MS_MEASURED_GEMM, AT(4096, 512, 256, 1)), 8, 1e-12);
    cr_assert_float_eq(ratio_at(&c, MS_MEASURED_GEMM, AT(64, 64, 64, 1)), 2, 1e-12);
    cr_assert_float_eq(ratio_at(&c, MS_MEASURED_GEMM_ACCUMULATE, AT(64, 64, 64, 8)), 10, 1e-12);
    cr_assert_float_eq(ratio_at(&c, MS_MEASURED_MEMORY, AT(1000, 1, 1, 1)), 0.5, 1e-12);
    /* halfway in logarithms: the geometric mean */
    cr_assert_float_eq(ratio_at(&c, MS_MEASURED_GEMM, AT(2048, 512, 256, 1)), 4, 1e-12);
    /* one row within a factor of two */
    cr_assert_float_eq(ratio_at(&c, MS_MEASURED_GEMM, AT(1536, 1024, 128, 2)), 2, 1e-12);
    /* none: one size is farther, or another kernel's */
    cr_assert_eq(ratio_at(&c, MS_MEASURED_GEMM, AT(1024, 512, 1025, 1)), 0);
    cr_assert_eq(ratio_at(&c, MS_MEASURED_GEMM, AT(511, 512, 256, 1)), 0);
    cr_assert_eq(ratio_at(&c, MS_MEASURED_GEMM_ACCUMULATE, AT(1024, 512, 256, 1)), 0);
    cr_assert_eq(ratio_at(&c, MS_MEASURED_ATTENTION, AT(1024, 512, 256, 1)), 0);
    close_table(&c);
}

Test(measured, nearer_rows_weigh_more) {
    table_case c;
    open_table(&c, "gemm,1000x64x64,1000 s\ngemm,2000x64x64,8000 s\n");
    double before = 1;
    for (double m = 1000; m <= 2000; m += 125) {
        double ratio = ratio_at(&c, MS_MEASURED_GEMM, AT(m, 64, 64, 1));
        cr_assert(ratio >= before && ratio <= 4 + 1e-12, "%g: %g", m, ratio);
        before = ratio;
    }
    cr_assert_float_eq(before, 4, 1e-12);
    close_table(&c);
}

static const struct {
    const char *lines, *expected;
} FAULTS[] = {
    {"gemm,64x64,1 us\n", "own.csv:1"},
    {"gemm,64x64,1 us\n", "expected a shape MxNxK or MxNxKxBATCH, got '64x64'"},
    {"gemm,64x64x64x1x1,1 us\n", "expected a shape MxNxK"},
    {"gemm,64x64xx,1 us\n", "expected a shape"},
    {"gemm,0x64x64,1 us\n", "expected a shape"},
    {"attention,1x4096x32,1 us\n", "expected a shape BATCHxSEQUENCEx"},
    {"memory,1e999,1 us\n", "expected a shape BYTES"},
    {"gemm,64x64x64,1\n", "expected a time with its unit, such as '163 us', got '1'"},
    {"gemm,64x64x64,0 us\n", "expected a time with its unit"},
    {"softmax,64,1 us\n", "no kernel 'softmax': expected gemm"},
    {"gemm,64x64x64\n", "expected kernel, shape and time"},
    {"gemm,64x64x64,1 us,2\n", "expected kernel, shape and time"},
    {NULL, "own.csv"},
};

Test(measured, faults_name_their_line) {
    for (size_t i = 0; i < sizeof FAULTS / sizeof FAULTS[0]; i++) {
        table_case c;
        open_table(&c, FAULTS[i].lines);
        cr_assert_neq(c.status, MS_OK, "%zu", i);
        cr_assert(strstr(ms_buffer_text(&c.fixture.messages), FAULTS[i].expected), "%zu: %s", i,
                  ms_buffer_text(&c.fixture.messages));
        close_table(&c);
    }
}
