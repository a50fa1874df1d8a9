/* libFuzzer target: any text as a topology.conf of Slurm, as its topology.yaml where it begins with
 * a list, or, behind a '=', as a list of hosts. What is refused is explained; what is read has
 * sizes that go together. */
#include <string.h>

#include "fuzz_target.h"
#include "meshsim/slurm.h"

static void expand(const char *list, ms_arena *arena, ms_diag *diag) {
    ms_words hosts;
    ms_status status = ms_slurm_hosts(list, NULL, arena, diag, &hosts);
    require(status == MS_OK || status == MS_E_INPUT);
    require((status == MS_OK) == (diag->errors == 0));
    require(status != MS_OK || (hosts.count > 0 && hosts.count <= MS_SLURM_NODES_MAX));
    for (size_t i = 0; status == MS_OK && i < hosts.count; i++) {
        require(hosts.items[i][0] != '\0' && strpbrk(hosts.items[i], "[],") == NULL);
    }
}

static void read_conf(const ms_text *text, ms_arena *arena, ms_diag *diag) {
    ms_source_keys keys = {.count = 0};
    ms_slurm_topology found;
    ms_status status = ms_slurm_read(text, arena, diag, &keys, &found);
    require(status == MS_OK || status == MS_E_INPUT);
    require((status == MS_OK) == (diag->errors == 0));
    if (status == MS_OK) {
        require(keys.count > 0 && found.remarks != NULL);
        require(found.layers >= 1 && found.layers <= 3 && found.rails >= 1);
        require(found.leaves_per_pod >= 1 && found.nodes_per_leaf >= 1);
        require(found.nodes >= found.nodes_per_leaf && found.nodes <= MS_SLURM_NODES_MAX);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ms_arena arena;
    ms_diag diag;
    ms_arena_init(&arena);
    ms_diag_init(&diag, discard, NULL);
    const char *copy = ms_arena_strndup(&arena, (const char *)data, size);
    if (size > 0 && data[0] == '=') {
        expand(copy + 1, &arena, &diag);
    } else {
        bool is_yaml = size > 0 && (data[0] == '-' || data[0] == '[');
        read_conf(&(ms_text){is_yaml ? "fuzz.yaml" : "fuzz.conf", copy, size}, &arena, &diag);
    }
    ms_arena_release(&arena);
    return 0;
}
