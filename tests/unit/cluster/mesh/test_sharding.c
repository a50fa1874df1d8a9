/* Specs and redistributions: closed forms, and step by step against the elements each rank holds.
 */
#include "cluster/mesh/sharding.h"

#include <string.h>

#include "mesh_check.h"
#include "mesh_fixture.h"

#define R                                                                                          \
    { .kind = MS_REPLICATE }
#define P                                                                                          \
    { .kind = MS_PARTIAL }
#define S(d)                                                                                       \
    { .kind = MS_SHARD, .dimension = (d) }

static ms_mesh dp4_tp2(mesh_fixture *f) {
    static const char *const NAMES[] = {"dp", "tp"};
    static const int SIZES[] = {4, 2};
    ms_mesh mesh;
    cr_assert_eq(ms_mesh_init(&mesh, NAMES, SIZES, 2, &f->diag), MS_OK);
    return mesh;
}

Test(sharding, local_shape_of_a_weight) {
    mesh_fixture f;
    mesh_fixture_init(&f);
    ms_mesh mesh = dp4_tp2(&f);
    const ms_tensor weight = {.dimensions = 2, .shape = {1024, 4096}, .element_B = 2};
    const ms_spec spec = {.on = {R, S(1)}}, both = {.on = {S(1), S(1)}};
    int64_t local[2];
    cr_assert_eq(ms_spec_local_shape(&mesh, &spec, &weight, &f.diag, local), MS_OK);
    cr_assert(local[0] == 1024 && local[1] == 2048);
    cr_assert_eq(ms_tensor_bytes(&weight, local), 1024.0 * 2048 * 2);
    cr_assert_eq(ms_spec_local_shape(&mesh, &both, &weight, &f.diag, local), MS_OK);
    cr_assert(local[0] == 1024 && local[1] == 512);
    mesh_fixture_release(&f);
}

typedef struct fault_case {
    ms_spec from, to;
    int64_t shape[2];
    const char *message;
} fault_case;

static const fault_case FAULTS[] = {
    {{.on = {R, S(1)}},
     {.on = {R, R}},
     {1024, 4097},
     "dimension 1 of size 4097 does not divide by axis 'tp' of size 2"},
    {{.on = {S(0), S(0)}},
     {.on = {R, R}},
     {12, 8},
     "dimension 0 of size 12, of which axes outside 'tp' leave 3, does not divide by axis 'tp' of "
     "size 2"},
    {{.on = {R, R}},
     {.on = {S(2), R}},
     {8, 8},
     "axis 'dp' shards dimension 2, the tensor has 0 to 1"},
    {{.on = {R, R}}, {.on = {P, R}}, {8, 8}, "axis 'dp' cannot become partial"},
};

Test(sharding, faults_name_dimension_size_and_axis) {
    for (size_t i = 0; i < sizeof FAULTS / sizeof FAULTS[0]; i++) {
        mesh_fixture f;
        mesh_fixture_init(&f);
        ms_mesh mesh = dp4_tp2(&f);
        ms_tensor tensor = {.dimensions = 2, .element_B = 2};
        memcpy(tensor.shape, FAULTS[i].shape, sizeof FAULTS[i].shape);
        ms_reshard_plan plan = {.count = -3};
        cr_assert_eq(ms_reshard(&mesh, &tensor, &FAULTS[i].from, &FAULTS[i].to, &f.diag, &plan),
                     MS_E_INPUT);
        cr_assert_eq(plan.count, -3);
        cr_assert_not_null(strstr(ms_buffer_text(&f.messages), FAULTS[i].message), "case %zu: %s",
                           i, ms_buffer_text(&f.messages));
        mesh_fixture_release(&f);
    }
}

typedef struct move_case {
    ms_spec from, to;
    struct {
        ms_coll_kind kind;
        int axis;
        double size, sent; /* in elements */
    } steps[4];
    int count;
} move_case;

/* A tensor of 16 x 8 over dp=4 tp=2. Sent per rank: all-gather and reduce-scatter (n-1)/n of the
 * whole, all-to-all (n-1)/n of what a rank has, all-reduce 2(n-1)/n of it. */
static const move_case MOVES[] = {
    {{.on = {S(0), R}}, {.on = {R, R}}, {{MS_COLL_ALL_GATHER, 0, 128, 96}}, 1},
    {{.on = {R, R}}, {.on = {R, S(1)}}, {{MS_COLL_NONE, 1, 128, 0}}, 1},
    {{.on = {S(0), R}}, {.on = {S(1), R}}, {{MS_COLL_ALL_TO_ALL, 0, 32, 24}}, 1},
    {{.on = {P, R}}, {.on = {R, R}}, {{MS_COLL_ALL_REDUCE, 0, 128, 192}}, 1},
    {{.on = {P, R}}, {.on = {S(0), R}}, {{MS_COLL_REDUCE_SCATTER, 0, 128, 96}}, 1},
    {{.on = {R, S(0)}},
     {.on = {S(0), R}},
     {{MS_COLL_ALL_GATHER, 1, 128, 64}, {MS_COLL_NONE, 0, 128, 0}},
     2},
    /* another dimension: cutting first halves nothing on the way but quarters what is gathered */
    {{.on = {R, S(0)}},
     {.on = {S(1), R}},
     {{MS_COLL_NONE, 0, 64, 0}, {MS_COLL_ALL_GATHER, 1, 32, 16}},
     2},
    /* two axes on one dimension: the inner one goes first, and comes back */
    {{.on = {S(0), S(0)}},
     {.on = {R, S(0)}},
     {{MS_COLL_ALL_GATHER, 1, 32, 16}, {MS_COLL_ALL_GATHER, 0, 128, 96}, {MS_COLL_NONE, 1, 128, 0}},
     3},
    /* swapping dimensions: one axis has to step aside */
    {{.on = {S(0), S(1)}},
     {.on = {S(1), S(0)}},
     {{MS_COLL_ALL_GATHER, 1, 32, 16}, {MS_COLL_ALL_TO_ALL, 0, 32, 24}, {MS_COLL_NONE, 1, 32, 0}},
     3},
    {{.on = {S(0), R}}, {.on = {S(0), R}}, {{MS_COLL_NONE, 0, 0, 0}}, 0},
    {{.on = {P, S(1)}},
     {.on = {R, R}},
     {{MS_COLL_ALL_REDUCE, 0, 64, 96}, {MS_COLL_ALL_GATHER, 1, 128, 64}},
     2},
};

Test(sharding, collectives_and_bytes) {
    for (size_t i = 0; i < sizeof MOVES / sizeof MOVES[0]; i++) {
        const move_case *c = &MOVES[i];
        mesh_fixture f;
        mesh_fixture_init(&f);
        ms_mesh mesh = dp4_tp2(&f);
        const ms_tensor tensor = {.dimensions = 2, .shape = {16, 8}, .element_B = 2};
        ms_reshard_plan plan;
        double sent = 0;
        cr_assert_eq(ms_reshard(&mesh, &tensor, &c->from, &c->to, &f.diag, &plan), MS_OK);
        cr_assert_eq(plan.count, c->count, "case %zu: %d", i, plan.count);
        for (int s = 0; s < plan.count; s++) {
            cr_assert_eq(plan.steps[s].kind, c->steps[s].kind, "case %zu step %d", i, s);
            cr_assert_eq(plan.steps[s].axis, c->steps[s].axis, "case %zu step %d", i, s);
            cr_assert_eq(plan.steps[s].size_B, 2 * c->steps[s].size, "case %zu step %d", i, s);
            cr_assert_eq(plan.steps[s].sent_B, 2 * c->steps[s].sent, "case %zu step %d", i, s);
            sent += plan.steps[s].sent_B;
        }
        cr_assert_eq(plan.sent_B, sent);
        mesh_fixture_release(&f);
    }
}

enum { ROWS = 24, COLUMNS = 12, ELEMENTS = ROWS * COLUMNS, RANKS_MAX = 48 };

typedef struct holding {
    bool has[RANKS_MAX][ELEMENTS];
} holding;

/* Which elements every rank holds: each sharding axis takes its share of what is left of its
 * dimension. */
static void hold(const ms_mesh *mesh, const ms_spec *spec, holding *out) {
    for (int rank = 0; rank < mesh->ranks; rank++) {
        int low[2] = {0, 0}, size[2] = {ROWS, COLUMNS};
        int coordinates[MS_MESH_AXES_MAX];
        ms_mesh_coordinates(mesh, rank, coordinates);
        for (int axis = 0; axis < mesh->axes; axis++) {
            int d = spec->on[axis].dimension;
            if (spec->on[axis].kind == MS_SHARD) {
                size[d] /= mesh->sizes[axis];
                low[d] += coordinates[axis] * size[d];
            }
        }
        for (int e = 0; e < ELEMENTS; e++) {
            int row = e / COLUMNS - low[0], column = e % COLUMNS - low[1];
            out->has[rank][e] = row >= 0 && row < size[0] && column >= 0 && column < size[1];
        }
    }
}

/* What a rank holds after a step its group held before; what a cut leaves it held itself; nothing
 * beyond what the group gathered is thrown away by an all-gather. */
static void assert_step(const ms_mesh *mesh, const ms_reshard_step *step, const holding *before,
                        const holding *after) {
    for (int rank = 0; rank < mesh->ranks; rank++) {
        ms_group group = mesh_group(mesh, step->axis, rank);
        for (int e = 0; e < ELEMENTS; e++) {
            bool group_has = false;
            for (int m = 0; m < group.size; m++) {
                group_has = group_has || before->has[group.first + m * group.stride][e];
            }
            bool source = step->kind == MS_COLL_NONE ? before->has[rank][e] : group_has;
            cr_assert(source || !after->has[rank][e], "rank %d gets what nobody has", rank);
            if (step->kind == MS_COLL_ALL_GATHER) {
                cr_assert_eq(after->has[rank][e], group_has);
            }
        }
    }
}

static ms_spec random_spec(ms_random *random, const ms_mesh *mesh, const ms_tensor *tensor,
                           bool may_be_partial) {
    int64_t left[2] = {tensor->shape[0], tensor->shape[1]};
    ms_spec spec = {0};
    for (int axis = 0; axis < mesh->axes; axis++) {
        int choice = (int)ms_random_range(random, 0, may_be_partial ? 3 : 2);
        if (choice < 2 && left[choice] % mesh->sizes[axis] == 0) {
            spec.on[axis] = (ms_tensor_placement)S(choice);
            left[choice] /= mesh->sizes[axis];
        } else if (choice == 3) {
            spec.on[axis] = (ms_tensor_placement)P;
        }
    }
    return spec;
}

/* From any spec to any other: every step moves only what its group has, and the end is the target.
 */
Test(sharding, steps_are_sound_from_any_spec_to_any_other) {
    static const char *const NAMES[] = {"dp", "pp", "cp", "tp"};
    static holding before, after;
    uint64_t seed = mesh_seed();
    ms_random random = {.state = seed ^ 3};
    for (int i = 0; i < 400; i++) {
        mesh_fixture f;
        ms_mesh mesh;
        int sizes[4], ranks = 1;
        mesh_fixture_init(&f);
        for (int a = 0; a < 4; a++) {
            sizes[a] = (int)ms_random_range(&random, 1, 3);
            sizes[a] = ranks * sizes[a] > RANKS_MAX ? 1 : sizes[a];
            ranks *= sizes[a];
        }
        cr_assert_eq(ms_mesh_init(&mesh, NAMES, sizes, 4, &f.diag), MS_OK);
        const ms_tensor tensor = {.dimensions = 2, .shape = {ROWS, COLUMNS}, .element_B = 1};
        ms_spec from = random_spec(&random, &mesh, &tensor, true);
        ms_spec to = random_spec(&random, &mesh, &tensor, false);
        ms_spec now = from;
        ms_reshard_plan plan;
        cr_assert_eq(ms_reshard(&mesh, &tensor, &from, &to, &f.diag, &plan), MS_OK, "seed %llu: %s",
                     (unsigned long long)seed, ms_buffer_text(&f.messages));
        hold(&mesh, &now, &before);
        for (int s = 0; s < plan.count; s++) {
            now.on[plan.steps[s].axis] = plan.steps[s].to;
            hold(&mesh, &now, &after);
            assert_step(&mesh, &plan.steps[s], &before, &after);
            before = after;
        }
        for (int a = 0; a < 4; a++) {
            cr_assert(mesh.sizes[a] == 1 || now.on[a].kind == to.on[a].kind, "seed %llu",
                      (unsigned long long)seed);
        }
        hold(&mesh, &to, &after);
        cr_assert_arr_eq(before.has, after.has, sizeof before.has[0] * (size_t)mesh.ranks);
        mesh_fixture_release(&f);
    }
}

Test(sharding, placements_as_text) {
    char text[32];
    cr_assert_str_eq(ms_tensor_placement_text((ms_tensor_placement)S(3), text, sizeof text),
                     "shard3");
    cr_assert_str_eq(ms_tensor_placement_text((ms_tensor_placement)R, text, sizeof text),
                     "replicate");
    cr_assert_str_eq(ms_tensor_placement_text((ms_tensor_placement)P, text, sizeof text),
                     "partial");
}
