/* The list expressions of --moe-layer-freq, and the steps of --step-batch-size-schedule.
 * Source of what they mean: Megatron-LM, megatron.training.arguments (moe_freq_type: Python's own
 * rules for lists, integers, + and *, from left to right, * before +) and
 * megatron.core.num_microbatches_calculator. */
#include <stdlib.h>
#include <string.h>

#include "study/import/megatron_parts.h"

enum { VALUES_MAX = 100000, NUMBER_MAX = 1000000000, DEPTH_MAX = 32 };

/* An integer, or a list of them. */
typedef struct pattern_value {
    bool is_list;
    long number;
    ms_ints list;
} pattern_value;

typedef struct pattern_walk {
    const char *flag, *text, *at;
    const ms_mark *mark;
    ms_arena *arena;
    ms_diag *diag;
    int depth;
} pattern_walk;

static ms_status fault(const pattern_walk *w, const char *expected) {
    const ms_megatron_letter letter = {
        .flag = w->flag, .text = w->text, .at = w->at, .mark = w->mark};
    return ms_megatron_fault_letter(&letter, expected, w->diag);
}

static void skip_blanks(pattern_walk *w) {
    while (*w->at == ' ') {
        w->at++;
    }
}

static ms_status read_number(pattern_walk *w, const char *expected, long *number_out) {
    skip_blanks(w);
    if (*w->at < '0' || *w->at > '9') {
        return fault(w, expected);
    }
    long number = 0;
    for (; *w->at >= '0' && *w->at <= '9'; w->at++) {
        number = 10 * number + (*w->at - '0');
        if (number > NUMBER_MAX) {
            return fault(w, "a number up to 1000000000");
        }
    }
    *number_out = number;
    return MS_OK;
}

/* ---- values ---- */

static ms_status make_list(const pattern_walk *w, size_t count, ms_ints *list_out) {
    if (count > VALUES_MAX) {
        ms_diag_at(w->diag, w->mark, w->flag, "expected a list of at most %d, got more in '%s'",
                   VALUES_MAX, w->text);
        return MS_E_INPUT;
    }
    *list_out = (ms_ints){.items = MS_NEW(w->arena, int, count + 1), .count = count};
    return list_out->items == NULL ? ms_diag_no_memory(w->diag) : MS_OK;
}

/* "[0, 1]"; a comma may end it, as in Python. */
static ms_status read_list(pattern_walk *w, pattern_value *out) {
    size_t commas = 0;
    for (const char *at = w->at; *at != '\0' && *at != ']'; at++) {
        commas += *at == ',';
    }
    ms_status status = make_list(w, commas + 1, &out->list);
    out->is_list = true;
    out->list.count = 0;
    w->at++;
    skip_blanks(w);
    while (status == MS_OK && *w->at != ']') {
        long number = 0;
        status = read_number(w, "an integer or ']'", &number);
        if (status != MS_OK) {
            break;
        }
        out->list.items[out->list.count++] = (int)number;
        skip_blanks(w);
        if (*w->at == ',') {
            w->at++;
            skip_blanks(w);
        } else if (*w->at != ']') {
            status = fault(w, "',' or ']'");
        }
    }
    w->at += status == MS_OK;
    return status;
}

static ms_status add(const pattern_walk *w, pattern_value *left, const pattern_value *right) {
    if (left->is_list != right->is_list) {
        return fault(w, "lists on both sides of '+'");
    }
    if (!left->is_list) {
        left->number += right->number;
        return left->number > NUMBER_MAX ? fault(w, "a number up to 1000000000") : MS_OK;
    }
    ms_ints sum;
    ms_status status = make_list(w, left->list.count + right->list.count, &sum);
    if (status == MS_OK) {
        memcpy(sum.items, left->list.items, left->list.count * sizeof(int));
        memcpy(sum.items + left->list.count, right->list.items, right->list.count * sizeof(int));
        left->list = sum;
    }
    return status;
}

static ms_status multiply(const pattern_walk *w, pattern_value *left, const pattern_value *right) {
    if (left->is_list && right->is_list) {
        return fault(w, "a number on one side of '*'");
    }
    if (!left->is_list && !right->is_list) {
        if (right->number > 0 && left->number > NUMBER_MAX / right->number) {
            return fault(w, "a number up to 1000000000");
        }
        left->number *= right->number;
        return MS_OK;
    }
    const ms_ints *list = left->is_list ? &left->list : &right->list;
    size_t times = (size_t)(left->is_list ? right->number : left->number);
    ms_ints product;
    ms_status status = make_list(w, list->count == 0 ? 0 : list->count * times, &product);
    for (size_t i = 0; status == MS_OK && i < product.count; i++) {
        product.items[i] = list->items[i % list->count];
    }
    if (status == MS_OK) {
        *left = (pattern_value){.is_list = true, .list = product};
    }
    return status;
}

/* ---- expressions ---- */

static ms_status read_sum(pattern_walk *w, pattern_value *out);

static ms_status read_factor(pattern_walk *w, pattern_value *out) {
    *out = (pattern_value){.is_list = false};
    skip_blanks(w);
    if (*w->at == '[') {
        return read_list(w, out);
    }
    if (*w->at != '(') {
        return read_number(w, "a list, a number or '('", &out->number);
    }
    if (++w->depth > DEPTH_MAX) {
        return fault(w, "at most 32 brackets in each other");
    }
    w->at++;
    ms_status status = read_sum(w, out);
    skip_blanks(w);
    if (status == MS_OK && *w->at != ')') {
        status = fault(w, "'+', '*' or ')'");
    }
    w->at += status == MS_OK;
    w->depth--;
    return status;
}

static ms_status read_product(pattern_walk *w, pattern_value *out) {
    ms_status status = read_factor(w, out);
    for (skip_blanks(w); status == MS_OK && *w->at == '*'; skip_blanks(w)) {
        pattern_value right;
        w->at++;
        status = read_factor(w, &right);
        status = status == MS_OK ? multiply(w, out, &right) : status;
    }
    return status;
}

static ms_status read_sum(pattern_walk *w, pattern_value *out) {
    ms_status status = read_product(w, out);
    for (skip_blanks(w); status == MS_OK && *w->at == '+'; skip_blanks(w)) {
        pattern_value right;
        w->at++;
        status = read_product(w, &right);
        status = status == MS_OK ? add(w, out, &right) : status;
    }
    return status;
}

ms_status ms_megatron_read_pattern(const char *text, const ms_mark *mark, ms_arena *arena,
                                   ms_diag *diag, ms_ints *values_out) {
    pattern_walk w = {.flag = "--moe-layer-freq",
                      .text = text,
                      .at = text,
                      .mark = mark,
                      .arena = arena,
                      .diag = diag};
    pattern_value value;
    ms_status status = read_sum(&w, &value);
    if (status == MS_OK && *w.at != '\0') {
        status = fault(&w, "'+', '*' or the end");
    }
    if (status == MS_OK && !value.is_list) {
        ms_diag_at(diag, mark, w.flag, "expected a list, got the number '%s'", text);
        status = MS_E_INPUT;
    }
    if (status == MS_OK) {
        *values_out = value.list;
    }
    return status;
}

/* ---- steps ---- */

/* A threshold, with K, M, B or T for powers of a thousand. */
static ms_status read_threshold(pattern_walk *w, double *tokens_out) {
    static const char SUFFIXES[] = "KMBT";
    long number = 0;
    ms_status status = read_number(w, "a count of tokens", &number);
    const char *suffix = *w->at == '\0' ? NULL : strchr(SUFFIXES, *w->at);
    *tokens_out = (double)number;
    if (status == MS_OK && suffix != NULL) {
        for (const char *at = SUFFIXES; at <= suffix; at++) {
            *tokens_out *= 1000;
        }
        w->at++;
    }
    return status == MS_OK && *w->at != ':' ? fault(w, "':' and a batch") : status;
}

/* "THRESHOLD:BATCH". */
static ms_status read_step(pattern_walk *w, double *tokens, ms_ints *batches) {
    const char *from = w->at;
    double before = *tokens;
    long batch = 0;
    ms_status status = read_threshold(w, tokens);
    if (status != MS_OK) {
        return status;
    }
    if (batches->count == 0 ? *tokens != 0 : *tokens <= before) {
        w->at = from;
        return fault(w, batches->count == 0 ? "a first threshold of 0" : "thresholds that grow");
    }
    w->at++;
    status = read_number(w, "a batch", &batch);
    if (status == MS_OK && (batch == 0 || (*w->at != ' ' && *w->at != '\0'))) {
        status = fault(w, batch == 0 ? "a batch of 1 or more" : "a blank or the end");
    }
    if (status == MS_OK) {
        batches->items[batches->count++] = (int)batch;
    }
    return status;
}

ms_status ms_megatron_read_steps(const char *text, const ms_mark *mark, ms_arena *arena,
                                 ms_diag *diag, ms_ints *batches_out) {
    pattern_walk w = {.flag = "--step-batch-size-schedule",
                      .text = text,
                      .at = text,
                      .mark = mark,
                      .arena = arena,
                      .diag = diag};
    ms_ints batches;
    double tokens = 0;
    ms_status status = make_list(&w, strlen(text) / 2 + 1, &batches);
    if (status != MS_OK) {
        return status;
    }
    batches.count = 0;
    do {
        skip_blanks(&w);
        status = read_step(&w, &tokens, &batches);
        skip_blanks(&w);
    } while (status == MS_OK && *w.at != '\0');
    if (status == MS_OK) {
        *batches_out = batches;
    }
    return status;
}
