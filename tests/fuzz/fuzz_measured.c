/* libFuzzer target: any bytes as a measured table of a GPU type. What is read foresees its own
 * rows; what is refused is explained. */
#include <math.h>

#include "cluster/platform/measured.h"
#include "fuzz_target.h"

static double second(const void *context, const double *sizes) {
    (void)context;
    (void)sizes;
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ms_arena arena;
    ms_diag diag;
    const ms_kernel_table *table = NULL;
    ms_arena_init(&arena);
    ms_diag_init(&diag, discard, NULL);
    ms_status status = ms_measured_read((const char *)data, size, "fuzz", &arena, &diag, &table);
    require((status == MS_OK) == (diag.errors == 0));
    for (int kernel = 0; status == MS_OK && kernel < MS_MEASURED_COUNT; kernel++) {
        for (int i = 0; i < table->counts[kernel]; i++) {
            const ms_measured_row *row = &table->rows[kernel][i];
            double ratio =
                ms_measured_ratio(table, (ms_measured_kernel)kernel, row->sizes, second, NULL);
            require(row->time_s > 0 && ratio > 0 && isfinite(ratio));
        }
    }
    ms_arena_release(&arena);
    return 0;
}
