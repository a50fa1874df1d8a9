/* Operators by name, and which of their inputs have the sizes. Source: PyTorch,
 * aten/src/ATen/native/native_functions.yaml (the order of an operator's arguments is that of
 * `Input Dims`); FlashAttention, flash_attn/flash_attn_interface.py, for its own. */
#include "study/kineto/shapes.h"

#include <stdio.h>
#include <string.h>

#include "study/kineto/classes.h"

/* C = A B: A is input `first`, B the next one. */
static const struct {
    const char *name;
    int first, rank;
} PRODUCTS[] = {
    {"aten::mm", 0, 2},
    {"aten::addmm", 1, 2},
    {"aten::bmm", 0, 3},
    {"aten::baddbmm", 1, 3},
};

/* Queries are input `query`, keys and values the two after it, whether the mask is causal `causal`.
 */
static const struct {
    const char *name;
    int query, causal;
    bool has_heads_first; /* [batch, heads, sequence, size]; else sequence before heads */
} ATTENTIONS[] = {
    {"aten::_flash_attention_forward", 0, 8, false},
    {"aten::_flash_attention_backward", 1, 11, false},
    {"aten::_scaled_dot_product_flash_attention", 0, 4, true},
    {"aten::_scaled_dot_product_flash_attention_backward", 1, 11, true},
    {"aten::_scaled_dot_product_cudnn_attention", 0, 6, true},
    {"aten::_scaled_dot_product_cudnn_attention_backward", 1, 14, true},
    {"aten::_cudnn_attention_forward", 0, 10, true},
    {"aten::_cudnn_attention_backward", 1, 14, true},
    {"flash_attn::_flash_attn_forward", 0, 5, false},
    {"flash_attn::_flash_attn_backward", 1, 11, false},
};

static bool has_sizes(const ms_kineto_event *operator, int input, int rank) {
    if (input >= operator->input_count || operator->inputs[input].rank != rank) {
        return false;
    }
    for (int i = 0; i < rank; i++) {
        if (operator->inputs[input].sizes[i]<1) {
            return false;
        }
    }
    return true;
}

/* What the operator's name alone says. */
static void set_unknown(const ms_kineto_event *operator, const char * kernel, const char *why,
                        ms_kineto_work *work) {
    *work = (ms_kineto_work){.kernel = kernel, .why = why};
    snprintf(work->shape, sizeof work->shape, "%s", operator->name);
}

/* Times in a table are those of operands of 16 bits. */
static void set_type(const ms_kineto_input *input, ms_kineto_work *work) {
    snprintf(work->type, sizeof work->type, "%s", input->type);
    if (work->why == NULL && input->type[0] == '\0') {
        work->why = "its type is not recorded";
    } else if (work->why == NULL && ms_kineto_type_B(input->type) != 2) {
        work->why = "not of 16 bits";
    }
}

static void set_product(const ms_kineto_event *operator, int first, int rank,
                        ms_kineto_work *work) {
    const ms_kineto_input *a = &operator->inputs[first];
    const ms_kineto_input *b = &operator->inputs[first + 1];
    if (!has_sizes(operator, first, rank) || !has_sizes(operator, first + 1, rank)) {
        set_unknown(operator, "gemm", "its sizes are not recorded (record_shapes=True does)", work);
        return;
    }
    const int64_t *m = a->sizes + rank - 2, *k = b->sizes + rank - 2;
    *work = (ms_kineto_work){.kernel = "gemm"};
    if (m[1] != k[0] || (rank == 3 && a->sizes[0] != b->sizes[0])) {
        set_unknown(operator, "gemm", "its operands do not fit together", work);
        return;
    }
    int used = snprintf(work->shape, sizeof work->shape, "%lldx%lldx%lld", (long long)m[0],
                        (long long)k[1], (long long)k[0]);
    if (rank == 3) {
        snprintf(work->shape + used, sizeof work->shape - (size_t)used, "x%lld",
                 (long long)a->sizes[0]);
    }
    /* the bias of a layer is a row, which the product's kernel adds for nothing */
    if (first == 1 && operator->inputs[0].rank >= rank) {
        work->why = "it adds a whole matrix";
    }
    set_type(a, work);
}

static void set_attention(const ms_kineto_event *operator, size_t row, ms_kineto_work *work) {
    int query = ATTENTIONS[row].query, causal = ATTENTIONS[row].causal;
    const char *kernel = query == 1 ? "attention_backward" : "attention";
    for (int i = query; i < query + 3; i++) {
        if (!has_sizes(operator, i, 4)) {
            set_unknown(operator, kernel,
                        "its sizes are not recorded, or those of packed sequences", work);
            return;
        }
    }
    const int64_t *q = operator->inputs[query].sizes;
    const int64_t *k = operator->inputs[query + 1].sizes;
    const int64_t *v = operator->inputs[query + 2].sizes;
    int heads = ATTENTIONS[row].has_heads_first ? 1 : 2, sequence = 3 - heads;
    *work = (ms_kineto_work){.kernel = kernel};
    snprintf(work->shape, sizeof work->shape, "%lldx%lldx%lldx%lldx%lldx%lld", (long long)q[0],
             (long long)q[sequence], (long long)q[heads], (long long)k[heads], (long long)q[3],
             (long long)v[3]);
    if (q[sequence] != k[sequence]) {
        work->why = "queries and keys differ in number";
    } else if (causal >= operator->input_count || operator->inputs[causal].value[0] == '\0') {
        work->why = "its mask is not recorded";
    } else if (strcmp(operator->inputs[causal].value, "True") != 0) {
        work->why = "its mask is not causal";
    }
    set_type(&operator->inputs[query], work);
}

bool ms_kineto_work_of(const ms_kineto_event *operator, ms_kineto_work * work_out) {
    for (size_t i = 0; i < sizeof PRODUCTS / sizeof PRODUCTS[0]; i++) {
        if (strcmp(operator->name, PRODUCTS[i].name) == 0) {
            set_product(operator, PRODUCTS[i].first, PRODUCTS[i].rank, work_out);
            return true;
        }
    }
    for (size_t i = 0; i < sizeof ATTENTIONS / sizeof ATTENTIONS[0]; i++) {
        if (strcmp(operator->name, ATTENTIONS[i].name) == 0) {
            set_attention(operator, i, work_out);
            return true;
        }
    }
    return false;
}
