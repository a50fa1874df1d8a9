/* Meshes made from meshes: against arrays of devices handled as any array library would. */
#include <string.h>

#include "base/random.h"
#include "mesh_check.h"
#include "mesh_fixture.h"

/* A mesh as an array: the devices in row-major order. */
typedef struct array {
    int sizes[MS_MESH_AXES_MAX];
    const char *names[MS_MESH_AXES_MAX];
    int axes;
    int devices[4096];
    int count;
} array;

static void read_array(const ms_mesh *mesh, array *out) {
    out->axes = mesh->axes;
    out->count = mesh->ranks;
    memcpy(out->sizes, mesh->sizes, sizeof out->sizes);
    memcpy(out->names, mesh->names, sizeof out->names);
    for (int i = 0; i < mesh->ranks; i++) {
        out->devices[i] = ms_mesh_device(mesh, ms_mesh_rank_at(mesh, i));
    }
}

static void assert_same(const array *a, const ms_mesh *mesh, uint64_t seed) {
    static array b;
    read_array(mesh, &b);
    cr_assert_eq(a->axes, b.axes);
    cr_assert_eq(a->count, b.count);
    for (int i = 0; i < a->axes; i++) {
        cr_assert_eq(a->sizes[i], b.sizes[i], "seed %llu", (unsigned long long)seed);
        cr_assert_str_eq(a->names[i], b.names[i]);
    }
    for (int i = 0; i < a->count; i++) {
        cr_assert_eq(a->devices[i], b.devices[i], "seed %llu, place %d", (unsigned long long)seed,
                     i);
    }
}

/* Index into `from` of the element at `place` when counting through its axes in `order`. */
static int index_in_order(const array *from, const int *order, int place) {
    int stride[MS_MESH_AXES_MAX];
    int index = 0;
    for (int i = from->axes - 1, next = 1; i >= 0; next *= from->sizes[i--]) {
        stride[i] = next;
    }
    for (int i = from->axes - 1; i >= 0; i--) {
        index += place % from->sizes[order[i]] * stride[order[i]];
        place /= from->sizes[order[i]];
    }
    return index;
}

static void permute(const array *from, const int *order, array *to) {
    *to = *from;
    for (int i = 0; i < from->axes; i++) {
        to->sizes[i] = from->sizes[order[i]];
        to->names[i] = from->names[order[i]];
    }
    for (int i = 0; i < from->count; i++) {
        to->devices[i] = from->devices[index_in_order(from, order, i)];
    }
}

static void random_order(ms_random *random, int axes, int *order) {
    for (int i = 0; i < axes; i++) {
        int j = (int)ms_random_range(random, 0, i);
        order[i] = order[j];
        order[j] = i;
    }
}

static ms_words names_in_order(const ms_mesh *mesh, const int *order, const char **names) {
    for (int i = 0; i < mesh->axes; i++) {
        names[i] = mesh->names[order[i]];
    }
    return (ms_words){.items = names, .count = (size_t)mesh->axes};
}

static void transpose_both(ms_random *random, mesh_fixture *f, ms_mesh *mesh, array *a) {
    int order[MS_MESH_AXES_MAX];
    const char *names[MS_MESH_AXES_MAX];
    static array permuted;
    random_order(random, mesh->axes, order);
    ms_words words = names_in_order(mesh, order, names);
    permute(a, order, &permuted);
    cr_assert_eq(ms_mesh_transpose(mesh, &words, &f->diag, mesh), MS_OK);
    *a = permuted;
}

static void sub_both(ms_random *random, mesh_fixture *f, ms_mesh *mesh, array *a) {
    if (mesh->axes == 1) {
        return;
    }
    int axis = (int)ms_random_range(random, 0, mesh->axes - 1);
    int coordinate = (int)ms_random_range(random, 0, mesh->sizes[axis] - 1);
    int inner = 1;
    for (int i = axis + 1; i < a->axes; i++) {
        inner *= a->sizes[i];
    }
    int kept = 0;
    for (int i = 0; i < a->count; i++) {
        if (i / inner % a->sizes[axis] == coordinate) {
            a->devices[kept++] = a->devices[i];
        }
    }
    a->count = kept;
    cr_assert_eq(ms_mesh_sub(mesh, mesh->names[axis], coordinate, &f->diag, mesh), MS_OK);
    a->axes--;
    memmove(a->sizes + axis, a->sizes + axis + 1, (size_t)(a->axes - axis) * sizeof *a->sizes);
    memmove(a->names + axis, a->names + axis + 1, (size_t)(a->axes - axis) * sizeof *a->names);
}

/* Two random axes become one: move the second behind the first, then take both as one. */
static void flatten_both(ms_random *random, mesh_fixture *f, ms_mesh *mesh, array *a) {
    if (mesh->axes == 1) {
        return;
    }
    int order[MS_MESH_AXES_MAX];
    int merged[MS_MESH_AXES_MAX] = {0};
    static array permuted;
    random_order(random, mesh->axes, merged);
    int at = merged[0] < merged[1] ? merged[0] : merged[1];
    int count = 0;
    for (int i = 0; i < mesh->axes; i++) {
        if (i == at) {
            order[count++] = merged[0];
            order[count++] = merged[1];
        } else if (i != merged[0] && i != merged[1]) {
            order[count++] = i;
        }
    }
    const char *names[] = {mesh->names[merged[0]], mesh->names[merged[1]]};
    const ms_words words = {.items = names, .count = 2};
    permute(a, order, &permuted);
    *a = permuted;
    a->sizes[at] *= a->sizes[at + 1];
    a->axes--;
    memmove(a->sizes + at + 1, a->sizes + at + 2, (size_t)(a->axes - at - 1) * sizeof *a->sizes);
    memmove(a->names + at + 1, a->names + at + 2, (size_t)(a->axes - at - 1) * sizeof *a->names);
    a->names[at] = ms_arena_printf(&f->arena, "%s_%s", names[0], names[1]);
    cr_assert_eq(ms_mesh_flatten(mesh, &words, &f->arena, &f->diag, mesh), MS_OK, "%s",
                 ms_buffer_text(&f->messages));
}

/* Split the ranks over new axes by random divisors. */
static void reshape_both(ms_random *random, mesh_fixture *f, ms_mesh *mesh, array *a) {
    static const char *const NAMES[] = {"x", "y", "z", "w"};
    int sizes[4];
    int left = mesh->ranks;
    int axes = (int)ms_random_range(random, 1, 4);
    for (int i = 0; i < axes; i++) {
        int divisor = (int)ms_random_range(random, 1, left);
        while (left % divisor != 0) {
            divisor--;
        }
        sizes[i] = i == axes - 1 ? left : divisor;
        left /= sizes[i];
    }
    const ms_mesh_shape shape = {.names = NAMES, .sizes = sizes, .axes = axes};
    cr_assert_eq(ms_mesh_reshape(mesh, &shape, &f->arena, &f->diag, mesh), MS_OK);
    a->axes = axes;
    memcpy(a->sizes, sizes, sizeof sizes);
    memcpy(a->names, NAMES, (size_t)axes * sizeof *NAMES);
}

/* Every device of the mesh stands in exactly one group of an axis. */
static void assert_partition(const ms_mesh *mesh, const array *a, ms_arena *arena) {
    for (int axis = 0; axis < mesh->axes; axis++) {
        int *marks = MS_NEW(arena, int, 4096);
        for (int g = 0; g < ms_mesh_group_count(mesh, axis); g++) {
            ms_group group = ms_mesh_group_at(mesh, axis, g);
            for (int m = 0; m < group.size; m++) {
                marks[ms_mesh_device(mesh, group.first + m * group.stride)]++;
            }
        }
        for (int i = 0; i < a->count; i++) {
            cr_assert_eq(marks[a->devices[i]], 1);
        }
    }
}

Test(mesh_algebra, chains_agree_with_arrays) {
    static void (*const STEPS[])(ms_random *, mesh_fixture *, ms_mesh *,
                                 array *) = {transpose_both, sub_both, flatten_both, reshape_both};
    uint64_t seed = mesh_seed();
    ms_random random = {.state = seed};
    static array a;
    for (int i = 0; i < 400; i++) {
        mesh_fixture f;
        ms_mesh mesh;
        mesh_fixture_init(&f);
        random_mesh(&random, 2000, &f.diag, &mesh);
        if (i % 3 == 0) {
            int *devices = MS_NEW(&f.arena, int, mesh.ranks);
            random_order(&random, mesh.ranks, devices);
            cr_assert_eq(ms_mesh_set_devices(&mesh, devices, mesh.ranks, &f.arena, &f.diag), MS_OK);
        }
        read_array(&mesh, &a);
        for (int step = 0; step < 5; step++) {
            STEPS[ms_random_range(&random, 0, 3)](&random, &f, &mesh, &a);
            assert_same(&a, &mesh, seed);
            cr_assert_eq(mesh_check(&mesh, &f.diag), MS_OK, "seed %llu: %s",
                         (unsigned long long)seed, ms_buffer_text(&f.messages));
        }
        assert_partition(&mesh, &a, &f.arena);
        mesh_fixture_release(&f);
    }
}

Test(mesh_algebra, transposing_back_is_identity) {
    uint64_t seed = mesh_seed();
    ms_random random = {.state = seed ^ 2};
    for (int i = 0; i < 200; i++) {
        mesh_fixture f;
        ms_mesh mesh, there, back;
        int order[MS_MESH_AXES_MAX], plain[MS_MESH_AXES_MAX];
        const char *names[MS_MESH_AXES_MAX], *own[MS_MESH_AXES_MAX];
        mesh_fixture_init(&f);
        random_mesh(&random, 1 << 20, &f.diag, &mesh);
        random_order(&random, mesh.axes, order);
        for (int a = 0; a < mesh.axes; a++) {
            plain[a] = a;
        }
        ms_words words = names_in_order(&mesh, order, names);
        ms_words home = names_in_order(&mesh, plain, own);
        cr_assert_eq(ms_mesh_transpose(&mesh, &words, &f.diag, &there), MS_OK);
        cr_assert_eq(ms_mesh_transpose(&there, &home, &f.diag, &back), MS_OK);
        for (int a = 0; a < mesh.axes; a++) {
            cr_assert_eq(back.strides[a], mesh.strides[a]);
            cr_assert_eq(back.sizes[a], mesh.sizes[a]);
            cr_assert_str_eq(back.names[a], mesh.names[a]);
            int at = ms_mesh_axis(&there, mesh.names[a]);
            ms_group one = ms_mesh_group_at(&mesh, a, ms_mesh_group_count(&mesh, a) / 2);
            ms_group two = ms_mesh_group_at(&there, at, ms_mesh_group_count(&mesh, a) / 2);
            cr_assert(one.first == two.first && one.stride == two.stride && one.size == two.size);
        }
        mesh_fixture_release(&f);
    }
}

/* Strides say it, so no rank is looked at and no table is made, however many there are. */
Test(mesh_algebra, a_million_ranks_without_a_table) {
    static const char *const NAMES[] = {"pp", "dp", "cp", "tp"}, *const NEW[] = {"a", "b"};
    static const int SIZES[] = {64, 256, 8, 8}, PAIR[] = {1024, 1024};
    const char *flat[] = {"dp", "cp"}, *order[] = {"tp", "dp_cp", "pp"};
    mesh_fixture f;
    ms_mesh mesh, next;
    mesh_fixture_init(&f);
    cr_assert_eq(ms_mesh_init(&mesh, NAMES, SIZES, 4, &f.diag), MS_OK);
    size_t used_B = f.arena.used_B;
    const ms_mesh_shape shape = {.names = NEW, .sizes = PAIR, .axes = 2};
    cr_assert_eq(ms_mesh_reshape(&mesh, &shape, &f.arena, &f.diag, &next), MS_OK);
    cr_assert_null(next.devices);
    cr_assert_eq(
        ms_mesh_flatten(&mesh, &(ms_words){.items = flat, .count = 2}, &f.arena, &f.diag, &mesh),
        MS_OK);
    cr_assert_eq(ms_mesh_transpose(&mesh, &(ms_words){.items = order, .count = 3}, &f.diag, &mesh),
                 MS_OK);
    cr_assert_eq(ms_mesh_sub(&mesh, "pp", 63, &f.diag, &mesh), MS_OK);
    cr_assert_null(mesh.devices);
    cr_assert_eq(mesh.ranks, 16384);
    cr_assert_eq(mesh.first, 63 * 16384);
    cr_assert_eq(mesh_check(&mesh, &f.diag), MS_OK);
    cr_assert_leq(f.arena.used_B - used_B, 64U, "more than a name was allocated");
    mesh_fixture_release(&f);
}

/* Source: PyTorch's DeviceMesh on the same shapes. */
Test(mesh_algebra, reshape_keeps_the_device_order) {
    static const char *const TWO[] = {"dp", "tp"}, *const THREE[] = {"dp", "pp", "tp"};
    static const int FROM[] = {4, 8}, TO[] = {2, 4, 4};
    mesh_fixture f;
    ms_mesh mesh;
    mesh_fixture_init(&f);
    cr_assert_eq(ms_mesh_init(&mesh, TWO, FROM, 2, &f.diag), MS_OK);
    const ms_mesh_shape shape = {.names = THREE, .sizes = TO, .axes = 3};
    cr_assert_eq(ms_mesh_reshape(&mesh, &shape, &f.arena, &f.diag, &mesh), MS_OK);
    for (int i = 0; i < 32; i++) {
        cr_assert_eq(ms_mesh_rank_at(&mesh, i), i);
    }
    ms_group pp = mesh_group(&mesh, 1, 0);
    cr_assert(pp.first == 0 && pp.stride == 4 && pp.size == 4);
    mesh_fixture_release(&f);
}

Test(mesh_algebra, sub_of_4x4x8) {
    static const char *const NAMES[] = {"dp", "pp", "tp"};
    static const int SIZES[] = {4, 4, 8};
    mesh_fixture f;
    ms_mesh mesh, sub;
    mesh_fixture_init(&f);
    cr_assert_eq(ms_mesh_init(&mesh, NAMES, SIZES, 3, &f.diag), MS_OK);
    cr_assert_eq(ms_mesh_sub(&mesh, "dp", 2, &f.diag, &sub), MS_OK);
    cr_assert_eq(sub.axes, 2);
    cr_assert(sub.sizes[0] == 4 && sub.sizes[1] == 8 && sub.ranks == 32);
    for (int i = 0; i < 32; i++) {
        cr_assert_eq(ms_mesh_rank_at(&sub, i), 64 + i);
    }
    ms_group pp = mesh_group(&sub, 0, 64);
    cr_assert(pp.first == 64 && pp.stride == 8 && pp.size == 4);
    mesh_fixture_release(&f);
}

/* A flattened group is the same set of ranks as its axes together have. */
Test(mesh_algebra, flattened_groups_are_members_of_both) {
    static const char *const NAMES[] = {"dp", "pp", "cp", "tp"};
    static const int SIZES[] = {3, 4, 2, 5};
    const char *both[] = {"dp", "cp"};
    mesh_fixture f;
    ms_mesh mesh, flat;
    mesh_fixture_init(&f);
    cr_assert_eq(ms_mesh_init(&mesh, NAMES, SIZES, 4, &f.diag), MS_OK);
    cr_assert_eq(
        ms_mesh_flatten(&mesh, &(ms_words){.items = both, .count = 2}, &f.arena, &f.diag, &flat),
        MS_OK);
    int axis = ms_mesh_axis(&flat, "dp_cp");
    cr_assert_eq(axis, 0);
    for (int g = 0; g < ms_mesh_group_count(&flat, axis); g++) {
        int members[6];
        ms_group group = ms_mesh_group_at(&flat, axis, g);
        int first = ms_mesh_device(&flat, group.first);
        int count = ms_mesh_members(&mesh, MS_AXIS_BIT(MS_AXIS_DP) | MS_AXIS_BIT(MS_AXIS_CP), first,
                                    members);
        cr_assert_eq(count, group.size);
        for (int m = 0; m < count; m++) {
            cr_assert_eq(members[m], ms_mesh_device(&flat, group.first + m * group.stride));
        }
    }
    mesh_fixture_release(&f);
}

static ms_status break_mesh(int fault, ms_mesh *mesh, mesh_fixture *f) {
    static const int TWICE[] = {0, 1, 2, 3, 4, 2}, SHORT[] = {0, 1}, BELOW[] = {0, 1, 2, 3, 4, -5};
    static const char *const NAMES[] = {"a"};
    static const int FIVE[] = {5};
    const char *words[] = {"dp", "dp", "pt", "xx"};
    const ms_mesh_shape shape = {.names = NAMES, .sizes = FIVE, .axes = 1};
    switch (fault) {
    case 0:
        return ms_mesh_set_devices(mesh, TWICE, 6, &f->arena, &f->diag);
    case 1:
        return ms_mesh_set_devices(mesh, SHORT, 2, &f->arena, &f->diag);
    case 2:
        return ms_mesh_set_devices(mesh, BELOW, 6, &f->arena, &f->diag);
    case 3:
        return ms_mesh_reshape(mesh, &shape, &f->arena, &f->diag, mesh);
    case 4:
        return ms_mesh_transpose(mesh, &(ms_words){.items = words, .count = 2}, &f->diag, mesh);
    case 5:
        return ms_mesh_transpose(mesh, &(ms_words){.items = words, .count = 1}, &f->diag, mesh);
    case 6:
        return ms_mesh_transpose(mesh, &(ms_words){.items = words + 2, .count = 1}, &f->diag, mesh);
    case 7:
        return ms_mesh_sub(mesh, "tp", 2, &f->diag, mesh);
    case 8:
        return ms_mesh_sub(mesh, "cp", 0, &f->diag, mesh);
    case 9:
        return ms_mesh_flatten(mesh, &(ms_words){.items = words, .count = 1}, &f->arena, &f->diag,
                               mesh);
    default:
        return ms_mesh_flatten(mesh, &(ms_words){.items = words, .count = 2}, &f->arena, &f->diag,
                               mesh);
    }
}

Test(mesh_algebra, faults_name_the_numbers) {
    static const char *const NAMES[] = {"dp", "tp"};
    static const int SIZES[] = {3, 2};
    static const char *const MESSAGES[] = {"device 2 stands twice, for ranks 2 and 5",
                                           "6 ranks, the list has 2 devices",
                                           "device -5 is below 0",
                                           "6 ranks cannot become one of 5",
                                           "axis 'dp' stands twice",
                                           "leaves out axis 'tp'",
                                           "no axis 'pt'",
                                           "axis 'tp' of size 2 has no coordinate 2, only 0 to 1",
                                           "no axis 'cp'",
                                           "takes 2 to 2 axes of this mesh, got 1",
                                           "axis 'dp' stands twice"};
    for (int i = 0; i < (int)(sizeof MESSAGES / sizeof MESSAGES[0]); i++) {
        mesh_fixture f;
        ms_mesh mesh;
        mesh_fixture_init(&f);
        cr_assert_eq(ms_mesh_init(&mesh, NAMES, SIZES, 2, &f.diag), MS_OK);
        ms_mesh before = mesh;
        cr_assert_eq(break_mesh(i, &mesh, &f), MS_E_INPUT, "case %d", i);
        cr_assert_eq(f.diag.errors, 1, "case %d", i);
        cr_assert_not_null(strstr(ms_buffer_text(&f.messages), MESSAGES[i]), "case %d: %s", i,
                           ms_buffer_text(&f.messages));
        cr_assert_eq(mesh.axes, before.axes);
        cr_assert_eq(mesh.devices, before.devices);
        mesh_fixture_release(&f);
    }
}

Test(mesh_algebra, memory_failures_are_told) {
    static const char *const NAMES[] = {"dp", "pp", "cp"};
    static const int SIZES[] = {3, 2, 2};
    const char *both[] = {"dp", "cp"};
    for (long allowed = 0; allowed < 3; allowed++) {
        mesh_fixture f;
        ms_mesh mesh;
        mesh_fixture_init(&f);
        cr_assert_eq(ms_mesh_init(&mesh, NAMES, SIZES, 3, &f.diag), MS_OK);
        ms_arena_fail_after(&f.arena, allowed);
        ms_status status = ms_mesh_flatten(&mesh, &(ms_words){.items = both, .count = 2}, &f.arena,
                                           &f.diag, &mesh);
        cr_assert_eq(status, allowed < 2 ? MS_E_NOMEM : MS_OK);
        mesh_fixture_release(&f);
    }
}
