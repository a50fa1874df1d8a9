/* Reads the tensor that `meshsim mesh` lays over a mesh, its sharding spec, and the spec to
 * redistribute it to (mesh_options.h). A spec gives each axis of the mesh a placement: replicate,
 * partial (a summand), or a shard of one dimension. */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/mesh_options.h"

/* Largest size of a dimension, so that its bytes are exact in a double. */
#define DIMENSION_MAX 1000000000000LL

/* Read the size of one dimension of --tensor.  Returns MS_OK; MS_E_USAGE (reported). */
static ms_status read_dimension(const ms_invocation *call, const char *text, int64_t *out) {
    char *end = NULL;
    long long size = strtoll(text, &end, 10);
    bool is_number = isdigit((unsigned char)text[0]) && *end == '\0';
    if (!is_number || size < 1 || size > DIMENSION_MAX) {
        return ms_diag_usage(call->diag,
                             "--tensor: expected sizes of at least 1, such as 1024,4096, got '%s'",
                             text);
    }
    *out = size;
    return MS_OK;
}

/* Read the shape of --tensor and the bytes of --element-size.  Returns MS_OK; MS_E_USAGE
 * (reported). */
static ms_status read_tensor(const ms_invocation *call, ms_tensor *out) {
    ms_words sizes = {.count = 0};
    const char *element = ms_cli_value(call, "element-size", "2 B");
    const char *reason = "";
    ms_status status = ms_cli_split_axes(call, "tensor", ms_cli_value(call, "tensor", ""), &sizes);
    for (size_t i = 0; i < sizes.count && status == MS_OK; i++) {
        status = read_dimension(call, sizes.items[i], &out->shape[i]);
    }
    out->dimensions = (int)sizes.count;
    if (status == MS_OK &&
        (ms_unit_parse(element, MS_DIM_BYTES, &out->element_B, &reason) != MS_OK ||
         !(out->element_B > 0))) {
        status = ms_diag_usage(
            call->diag, "--element-size '%s': expected bytes above 0, such as '2 B'", element);
    }
    return status;
}

/* Read a placement: "replicate", "partial", or "shard" with the dimension, such as "shard1".
 * option: for the message.  Returns MS_OK; MS_E_USAGE (reported). */
static ms_status read_placement(const ms_invocation *call, const char *option, const char *text,
                                ms_tensor_placement *out) {
    char *end = NULL;
    bool is_shard = strncmp(text, "shard", 5) == 0 && isdigit((unsigned char)text[5]);
    long dimension = is_shard ? strtol(text + 5, &end, 10) : 0;
    if (is_shard && *end == '\0' && dimension < MS_TENSOR_DIMENSIONS_MAX) {
        *out = (ms_tensor_placement){.kind = MS_SHARD, .dimension = (int)dimension};
    } else if (strcmp(text, "replicate") == 0) {
        *out = (ms_tensor_placement){.kind = MS_REPLICATE};
    } else if (strcmp(text, "partial") == 0) {
        *out = (ms_tensor_placement){.kind = MS_PARTIAL};
    } else {
        return ms_diag_usage(
            call->diag,
            "--%s: expected replicate, partial or shardD (D a dimension, from 0), got '%s'", option,
            text);
    }
    return MS_OK;
}

/* Read a spec, "AXIS=PLACEMENT,..."; axes that are not named replicate.  option: --spec or
 * --redistribute.  Returns MS_OK; MS_E_USAGE (reported). */
static ms_status read_spec(const ms_invocation *call, const char *option, const ms_mesh *mesh,
                           ms_spec *spec_out) {
    ms_words items = {.count = 0};
    bool is_set[MS_MESH_AXES_MAX] = {false};
    ms_spec spec = {0}; /* 0: replicate */
    ms_status status = ms_cli_split_axes(call, option, ms_cli_value(call, option, ""), &items);
    for (size_t i = 0; i < items.count && status == MS_OK; i++) {
        char *item = (char *)(uintptr_t)items.items[i];
        const char *value = ms_cli_cut_pair(call, option, item, "AXIS=PLACEMENT");
        int axis = 0;
        bool is_axis = value != NULL && ms_mesh_find_axis(mesh, item, call->diag, &axis) == MS_OK;
        status = is_axis ? MS_OK : MS_E_USAGE;
        if (status == MS_OK && is_set[axis]) {
            status = ms_diag_usage(call->diag, "--%s: axis '%s' stands twice", option, item);
        }
        if (status == MS_OK) {
            is_set[axis] = true;
            status = read_placement(call, option, value, &spec.on[axis]);
        }
    }
    *spec_out = spec;
    return status;
}

/* Read --redistribute, and find the collectives that bring the tensor to that spec, and the part
 * that each rank then holds. */
static ms_status move_tensor(const ms_invocation *call, const ms_mesh *mesh,
                             ms_tensor_study *study) {
    ms_status status = read_spec(call, "redistribute", mesh, &study->target);
    status = status == MS_OK ? ms_reshard(mesh, &study->tensor, &study->spec, &study->target,
                                          call->diag, &study->plan)
                             : status;
    status = status == MS_OK ? ms_spec_local_shape(mesh, &study->target, &study->tensor, call->diag,
                                                   study->target_local)
                             : status;
    return status;
}

/* Options that are about a tensor are refused without --tensor. Each part is read only if the parts
 * before it were sound. */
ms_status ms_cli_read_tensor(const ms_invocation *call, const ms_mesh *mesh,
                             ms_tensor_study *study_out) {
    static const char *const NEED_TENSOR[] = {"spec", "redistribute", "element-size"};
    *study_out = (ms_tensor_study){.is_given = ms_cli_has(call, "tensor"),
                                   .is_moved = ms_cli_has(call, "redistribute")};
    for (size_t i = 0; i < 3 && !study_out->is_given; i++) {
        if (ms_cli_has(call, NEED_TENSOR[i])) {
            return ms_diag_usage(call->diag, "--%s needs --tensor, such as --tensor 1024,4096",
                                 NEED_TENSOR[i]);
        }
    }
    ms_status status = study_out->is_given ? read_tensor(call, &study_out->tensor) : MS_OK;
    if (status == MS_OK && ms_cli_has(call, "spec")) {
        status = read_spec(call, "spec", mesh, &study_out->spec);
    }
    if (status == MS_OK && study_out->is_given) {
        status = ms_spec_local_shape(mesh, &study_out->spec, &study_out->tensor, call->diag,
                                     study_out->local);
    }
    if (status == MS_OK && study_out->is_moved) {
        status = move_tensor(call, mesh, study_out);
    }
    return status;
}
