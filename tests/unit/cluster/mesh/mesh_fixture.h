/* Meshes with an arena and kept messages, for the tests of the mesh layer. */
#ifndef MS_TEST_MESH_FIXTURE_H
#define MS_TEST_MESH_FIXTURE_H

#include "base/random.h"
#include "cluster/mesh/mesh.h"
#include "platform_fixture.h"

typedef struct mesh_fixture {
    ms_arena arena;
    ms_buffer messages;
    ms_diag diag;
} mesh_fixture;

static inline void mesh_fixture_init(mesh_fixture *f) {
    ms_arena_init(&f->arena);
    ms_buffer_init(&f->messages);
    ms_diag_init(&f->diag, fixture_keep, &f->messages);
}

static inline void mesh_fixture_release(mesh_fixture *f) {
    ms_buffer_release(&f->messages);
    ms_arena_release(&f->arena);
}

static inline uint64_t mesh_seed(void) {
    const char *text = getenv("MS_SEED");
    return text == NULL ? 20240607 : strtoull(text, NULL, 10);
}

/* A random mesh of at most `limit` ranks. */
static inline void random_mesh(ms_random *random, int limit, ms_diag *diag, ms_mesh *out) {
    static const char *const NAMES[] = {"pp", "dp", "cp", "tp", "ep", "a", "b", "c"};
    const char *names[MS_MESH_AXES_MAX];
    int sizes[MS_MESH_AXES_MAX];
    int axes = (int)ms_random_range(random, 1, MS_MESH_AXES_MAX);
    int ranks = 1;
    for (int i = 0; i < axes; i++) {
        names[i] = NAMES[i];
        sizes[i] = (int)ms_random_range(random, 1, 12);
        sizes[i] = ranks * sizes[i] > limit ? 1 : sizes[i];
        ranks *= sizes[i];
    }
    for (int i = axes - 1; i > 0; i--) {
        int j = (int)ms_random_range(random, 0, i);
        const char *name = names[i];
        names[i] = names[j];
        names[j] = name;
    }
    cr_assert_eq(ms_mesh_init(out, names, sizes, axes, diag), MS_OK);
    cr_assert_eq(out->ranks, ranks);
}

#endif
