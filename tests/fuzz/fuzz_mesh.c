/* libFuzzer target: any bytes as a workload's `mesh:` mapping. */
#include "cluster/mesh/mesh.h"
#include "fuzz_target.h"
#include "mesh_check.h"

enum { CHECKED_RANKS_MAX = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ms_arena arena;
    ms_diag diag;
    ms_node *root = NULL;
    ms_mesh mesh;
    ms_arena_init(&arena);
    ms_diag_init(&diag, discard, NULL);
    ms_status status = ms_yaml_parse((const char *)data, size, "fuzz", &arena, &diag, &root);
    if (status == MS_OK) {
        status = ms_mesh_read(root, "mesh", &arena, &diag, &mesh);
    }
    if ((status == MS_OK) != (diag.errors == 0)) {
        abort(); /* what is refused is explained */
    }
    if (status == MS_OK && mesh.ranks <= CHECKED_RANKS_MAX && mesh_check(&mesh, &diag) != MS_OK) {
        abort();
    }
#ifdef MS_FUZZ_TRAP /* scripts/fuzz --traps: a fault that only mutation leads to */
    if (status == MS_OK && mesh.ranks % 7 == 0) {
        fputs("the planted trap\n", stderr);
        abort();
    }
#endif
    ms_arena_release(&arena);
    return 0;
}
