/* libFuzzer target: any text as a pipeline layout of Megatron-LM. What is read has the layers that
 * its stages have together; what is refused is explained. */
#include <string.h>

#include "fuzz_target.h"
#include "meshsim/megatron.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ms_arena arena;
    ms_diag diag;
    ms_megatron_layout layout;
    ms_arena_init(&arena);
    ms_diag_init(&diag, discard, NULL);
    const char *text = size == 0 ? "" : ms_arena_strndup(&arena, (const char *)data, size);
    ms_status status = ms_megatron_read_layout(text, NULL, &arena, &diag, &layout);
    require(status == MS_OK || status == MS_E_INPUT);
    require((status == MS_OK) == (diag.errors == 0));
    if (status == MS_OK) {
        long total = 0;
        for (int stage = 0; stage < layout.stages; stage++) {
            total += layout.layers[stage];
        }
        require(total == layout.total && layout.stages > 0);
        require(layout.loss_stage >= 0 && layout.loss_stage < layout.stages);
        require((layout.mtp_stage >= 0) == (layout.mtp_layers > 0));
    }
    ms_arena_release(&arena);
    return 0;
}
