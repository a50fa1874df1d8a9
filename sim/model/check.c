#include <stdio.h>

#include "model/internal.h"

/* Whether a size can be split by a degree. */
typedef bool (*is_legal_fn)(int size, int degree);

static bool divides(int size, int degree) {
    return size % degree == 0;
}

/* A rank holds whole key/value heads, or ranks share copies of one. */
static bool divides_either_way(int size, int degree) {
    return size % degree == 0 || degree % size == 0;
}

/* Nearest degrees that a size allows, as text: "4 or 8".  text: [48]. */
static void nearest_legal(int size, int degree, is_legal_fn is_legal, char *text) {
    int below = degree < size ? degree : size;
    while (below > 1 && !is_legal(size, below)) {
        below--;
    }
    int above = degree + 1;
    while (above < size && !is_legal(size, above)) {
        above++;
    }
    if (above <= size && is_legal(size, above)) {
        snprintf(text, 48, "%d or %d", below, above);
    } else {
        snprintf(text, 48, "%d", below);
    }
}

static ms_status check_split(ms_diag *diag, int tp, int size, const char *what,
                             is_legal_fn is_legal) {
    if (is_legal(size, tp)) {
        return MS_OK;
    }
    char legal[48];
    nearest_legal(size, tp, is_legal, legal);
    ms_diag_error(diag, "tensor-parallel degree '%d' does not fit %d %s: nearest that does is %s",
                  tp, size, what, legal);
    return MS_E_INPUT;
}

static ms_status check_degrees(const ms_model_layout *layout, ms_diag *diag) {
    const struct {
        const char *name;
        int value;
    } DEGREES[] = {{"tp", layout->tp},
                   {"pp", layout->pp},
                   {"dp", layout->dp},
                   {"virtual stages per rank", layout->chunks},
                   {"microbatch", layout->micro_batch}};
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof DEGREES / sizeof DEGREES[0]; i++) {
        if (DEGREES[i].value < 1) {
            ms_diag_error(diag, "%s is '%d', expected at least 1", DEGREES[i].name,
                          DEGREES[i].value);
            status = MS_E_INPUT;
        }
    }
    if (layout->zero < 0 || layout->zero > 1) {
        ms_diag_error(diag, "ZeRO stage '%d' is not built, expected 0 or 1", layout->zero);
        status = MS_E_INPUT;
    }
    return status;
}

static ms_status check_stages(const ms_model *model, const ms_model_layout *layout, ms_diag *diag) {
    int stages = layout->pp * layout->chunks;
    if (stages > model->layers) {
        ms_diag_error(diag,
                      "%d virtual stages (pp %d x %d) are more than the model's %d layers: at most "
                      "%d per rank fit pp %d",
                      stages, layout->pp, layout->chunks, model->layers, model->layers / layout->pp,
                      layout->pp);
        return MS_E_INPUT;
    }
    int sum = 0;
    for (int stage = 0; stage < stages; stage++) {
        if (layout->stage_layers[stage] < 0) {
            ms_diag_error(diag, "virtual stage %d has '%d' layers, expected at least 0", stage,
                          layout->stage_layers[stage]);
            return MS_E_INPUT;
        }
        sum += layout->stage_layers[stage];
    }
    if (sum != model->layers) {
        ms_diag_error(diag, "the layers of the %d virtual stages sum to '%d', the model has %d",
                      stages, sum, model->layers);
        return MS_E_INPUT;
    }
    return MS_OK;
}

ms_status ms_layout_check(const ms_model *model, const ms_model_layout *layout, ms_diag *diag) {
    if (check_degrees(layout, diag) != MS_OK) {
        return MS_E_INPUT;
    }
    const ms_status found[] = {
        check_split(diag, layout->tp, model->heads, "attention heads", divides),
        check_split(diag, layout->tp, model->kv_heads, "key/value heads", divides_either_way),
        check_split(diag, layout->tp, model->ffn, "columns of the MLP (ffn)", divides),
        check_stages(model, layout, diag)};
    for (size_t i = 0; i < sizeof found / sizeof found[0]; i++) {
        if (found[i] != MS_OK) {
            return MS_E_INPUT;
        }
    }
    return MS_OK;
}
