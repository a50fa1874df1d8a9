/* libFuzzer target: any bytes as the XML file of NCCL_TOPO_DUMP_FILE. What is refused is explained;
 * a machine that is read has GPUs, and no more NICs than its elements. */
#include <math.h>

#include "fuzz_target.h"
#include "meshsim/nccl_topo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ms_arena arena;
    ms_diag diag;
    ms_source_keys keys = {.count = 0};
    ms_nccl_machine machine;
    ms_arena_init(&arena);
    ms_diag_init(&diag, discard, NULL);
    const char *copy = ms_arena_strndup(&arena, (const char *)data, size);
    const ms_text text = {"fuzz.xml", copy, size};
    ms_status status = ms_nccl_topo_read(&text, &arena, &diag, &keys, &machine);
    require(status == MS_OK || status == MS_E_INPUT);
    require((status == MS_OK) == (diag.errors == 0));
    if (status == MS_OK) {
        require(machine.gpus.count > 0 && machine.gpus.count % machine.hosts == 0);
        require(machine.gpus.links >= 0 && machine.nics.count >= 0 && machine.nics.others >= 0);
        require(machine.nics.count == 0 || machine.nics.speed_Bps > 0);
        require(isfinite(machine.gpus.host_Bps) && machine.gpus.host_Bps >= 0);
    }
    ms_arena_release(&arena);
    return 0;
}
