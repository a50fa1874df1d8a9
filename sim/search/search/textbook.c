/* The textbook's cost model of device meshes (textbook.h): lists all factorizations D = dp * pp *
 * tp of the devices, and computes memory and communication time of each in closed form, without
 * simulation. */
#include "search/textbook.h"

#include <stdlib.h>

#include "base/buffer.h"

ms_textbook ms_textbook_usual(int devices, double parameters) {
    return (ms_textbook){.devices = devices,
                         .parameters = parameters,
                         .state_B = 16,
                         .layers = 80,
                         .activation_B = 3e9,
                         .device_B = 80e9,
                         .node_devices = 8,
                         .microbatches = 16,
                         .stage_s = 8e-3,
                         .node_Bps = 600e9,
                         .network_Bps = 100e9,
                         .rack_Bps = 25e9};
}

/* Memory and times of one mesh, by the formulas of ms_textbook_mesh. Tensor parallelism uses the
 * links of a node while its ranks fit in one, else the network. */
static ms_textbook_mesh evaluate_mesh(const ms_textbook *in, int dp, int pp, int tp) {
    double state_B = in->state_B * in->parameters;
    double tensor_Bps = tp <= in->node_devices ? in->node_Bps : in->network_Bps;
    ms_textbook_mesh mesh = {.dp = dp, .pp = pp, .tp = tp};
    mesh.memory_B = state_B / in->devices + in->activation_B / ((double)pp * tp);
    mesh.fits = pp <= in->layers && mesh.memory_B <= in->device_B;
    mesh.tensor_s = (tp - 1) * (state_B / in->layers) / (tp * tensor_Bps);
    mesh.pipeline_s = (pp - 1) * in->activation_B / (pp * in->network_Bps);
    mesh.bubble_s = (double)(pp - 1) / in->microbatches * in->stage_s;
    mesh.data_s = (dp - 1) * (state_B / ((double)pp * tp)) / (dp * in->rack_Bps);
    mesh.cost_s = mesh.tensor_s + mesh.pipeline_s + mesh.bubble_s + mesh.data_s;
    return mesh;
}

static int sign(double difference) {
    return (difference > 0) - (difference < 0);
}

/* Order of two meshes for qsort: those that fit first, then by cost, then by smaller dp, pp, tp. */
static int compare_meshes(const void *left, const void *right) {
    const ms_textbook_mesh *a = left;
    const ms_textbook_mesh *b = right;
    const int by[] = {(int)b->fits - (int)a->fits, sign(a->cost_s - b->cost_s), a->dp - b->dp,
                      a->pp - b->pp, a->tp - b->tp};
    for (size_t i = 0; i + 1 < sizeof by / sizeof by[0]; i++) {
        if (by[i] != 0) {
            return by[i];
        }
    }
    return by[sizeof by / sizeof by[0] - 1];
}

/* Check that all numbers are large enough for the formulas. Returns MS_OK; MS_E_INPUT
 * (reported). */
static ms_status check_input(const ms_textbook *in, ms_diag *diag) {
    bool has_counts =
        in->devices >= 1 && in->layers >= 1 && in->node_devices >= 1 && in->microbatches >= 1;
    bool has_sizes = in->parameters > 0 && in->state_B > 0 && in->activation_B > 0 &&
                     in->device_B > 0 && in->stage_s > 0 && in->node_Bps > 0 &&
                     in->network_Bps > 0 && in->rack_Bps > 0;
    if (!has_counts || !has_sizes) {
        return ms_diag_error(diag,
                             "a mesh needs at least one device, layer and microbatch, and sizes, "
                             "times and bandwidths above 0");
    }
    return MS_OK;
}

/* Add all divisors of a number, in pairs low * high; their order does not matter, since the meshes
 * are sorted. */
static void add_divisors(int number, ms_vector *divisors) {
    for (int low = 1; low <= number / low; low++) {
        if (number % low == 0) {
            int high = number / low;
            ms_vector_add(divisors, &low, 1);
            if (high != low) {
                ms_vector_add(divisors, &high, 1);
            }
        }
    }
}

/* Add the mesh of every ordered factorization of the devices. divisors: of int, all of the number
 * of devices. */
static void add_meshes(const ms_textbook *in, const ms_vector *divisors, ms_vector *meshes) {
    for (size_t i = 0; i < divisors->count; i++) {
        int dp = MS_AT(divisors, int, i);
        int rest = in->devices / dp;
        for (size_t j = 0; j < divisors->count; j++) {
            int pp = MS_AT(divisors, int, j);
            if (rest % pp == 0) {
                const ms_textbook_mesh mesh = evaluate_mesh(in, dp, pp, rest / pp);
                ms_vector_add(meshes, &mesh, 1);
            }
        }
    }
}

/* The meshes that fit come first in the sorted list, so counting stops at the first that does
 * not. */
ms_status ms_textbook_search(const ms_textbook *input, ms_arena *arena, ms_diag *diag,
                             ms_textbook_mesh **meshes_out, size_t *count_out,
                             size_t *fitting_out) {
    ms_status status = check_input(input, diag);
    if (status != MS_OK) {
        return status;
    }
    ms_vector divisors, meshes;
    ms_vector_init(&divisors, sizeof(int));
    ms_vector_init(&meshes, sizeof(ms_textbook_mesh));
    add_divisors(input->devices, &divisors);
    add_meshes(input, &divisors, &meshes);
    meshes.failed = meshes.failed || divisors.failed;
    *count_out = meshes.count;
    *meshes_out = ms_vector_keep(&meshes, arena);
    ms_vector_release(&divisors);
    if (*meshes_out == NULL) {
        return ms_diag_no_memory(diag);
    }
    qsort(*meshes_out, *count_out, sizeof **meshes_out, compare_meshes);
    for (*fitting_out = 0; *fitting_out < *count_out && (*meshes_out)[*fitting_out].fits;) {
        ++*fitting_out; /* meshes that fit come first */
    }
    return MS_OK;
}

const ms_textbook_mesh *ms_textbook_first_of_three(const ms_textbook_mesh *meshes, size_t count) {
    for (size_t i = 0; i < count && meshes[i].fits; i++) {
        if (meshes[i].dp > 1 && meshes[i].pp > 1 && meshes[i].tp > 1) {
            return &meshes[i];
        }
    }
    return NULL;
}
