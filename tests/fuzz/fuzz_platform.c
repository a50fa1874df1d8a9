/* libFuzzer target: any bytes as a platform file. What is refused is explained; what is read keeps
 * the invariants. */
#include "cluster/platform/platform.h"
#include "fuzz_target.h"

/* Bigger platforms are not written out: that is slow, not wrong. */
enum { EXPORT_GPUS_MAX = 256 };

static void export(const ms_platform *platform, ms_diag *diag) {
    ms_buffer text;
    ms_buffer_init(&text);
    bool is_written = ms_platform_write_simgrid_xml(platform, diag, &text) == MS_OK;
    if (is_written != (platform->routing == MS_ROUTING_SPREAD)) {
        abort();
    }
    ms_buffer_release(&text);
}

static void exercise(const char *path, ms_arena *arena) {
    static const char *const FOLDERS[] = {MS_SOURCE_DIR "/platforms", NULL};
    ms_diag diag;
    ms_platform platform;
    ms_diag_init(&diag, discard, NULL);
    ms_status status = ms_platform_load(path, FOLDERS, NULL, arena, &diag, &platform, NULL);
    if ((status == MS_OK) != (diag.errors == 0) || (status != MS_OK && status != MS_E_INPUT)) {
        abort();
    }
    if (status != MS_OK) {
        return;
    }
    if (ms_platform_check(&platform, &diag) != MS_OK ||
        !(ms_platform_bisection_Bps(&platform) >= 0)) {
        abort();
    }
    if (ms_platform_gpus(&platform) <= EXPORT_GPUS_MAX) {
        export(&platform, &diag);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return exercise_file(data, size, exercise);
}
