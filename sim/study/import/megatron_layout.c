/* --pipeline-model-parallel-layout: which virtual pipeline stage has which layers.
 * Source of what it means: Megatron-LM, megatron.core.transformer.pipeline_parallel_layer_layout,
 * which unrolls "(...)*n" first and a letter's "*n" then; its checks are those below. */
#include <string.h>

#include "study/import/megatron_parts.h"

static const char FLAG[] = "--pipeline-model-parallel-layout";

/* Letters of an unrolled layout at most: two layers a letter are far above any model. */
enum { LETTERS_MAX = 1000000 };

typedef struct layout_walk {
    const char *text; /* without commas */
    const char *at;
    const ms_mark *mark;
    ms_diag *diag;
    ms_buffer letters; /* unrolled */
} layout_walk;

static ms_status fault(const layout_walk *w, const char *expected) {
    const ms_megatron_letter letter = {.flag = FLAG, .text = w->text, .at = w->at, .mark = w->mark};
    return ms_megatron_fault_letter(&letter, expected, w->diag);
}

/* "*n" behind a letter or a bracket.  *times_out: 1 where there is none. */
static ms_status read_times(layout_walk *w, bool is_needed, long *times_out) {
    *times_out = 1;
    if (*w->at != '*') {
        return is_needed ? fault(w, "'*' and a number") : MS_OK;
    }
    w->at++;
    if (*w->at < '0' || *w->at > '9') {
        return fault(w, "a number");
    }
    for (*times_out = 0; *w->at >= '0' && *w->at <= '9'; w->at++) {
        *times_out = 10 * *times_out + (*w->at - '0');
        if (*times_out > LETTERS_MAX) {
            return fault(w, "a number up to 1000000");
        }
    }
    return *w->at == '*' ? fault(w, "a letter, '|' or '('") : MS_OK;
}

static bool is_letter(char letter) {
    return letter != '\0' && strchr("EtmL|", letter) != NULL;
}

static ms_status repeat(layout_walk *w, const char *letters, size_t length, long times) {
    if ((double)length * (double)times + (double)w->letters.length > LETTERS_MAX) {
        ms_diag_at(w->diag, w->mark, FLAG,
                   "expected at most %d layers and stages, got more in '%s'", LETTERS_MAX, w->text);
        return MS_E_INPUT;
    }
    for (; times > 0 && length > 0; times--) {
        ms_buffer_add(&w->letters, letters, length);
    }
    return MS_OK;
}

static ms_status read_letter(layout_walk *w) {
    const char letter = *w->at;
    long times = 1;
    if (!is_letter(letter)) {
        return fault(w, "E, t, m, L, '|' or '('");
    }
    w->at++;
    ms_status status = read_times(w, false, &times);
    return status == MS_OK ? repeat(w, &letter, 1, times) : status;
}

/* "(...)*n": a bracket holds letters alone. */
static ms_status read_bracket(layout_walk *w) {
    size_t from = w->letters.length;
    long times = 1;
    ms_status status = MS_OK;
    for (w->at++; *w->at != ')' && status == MS_OK;) {
        status = is_letter(*w->at) ? read_letter(w) : fault(w, "E, t, m, L, '|' or ')'");
    }
    if (status != MS_OK) {
        return status;
    }
    w->at++;
    status = read_times(w, true, &times);
    if (status != MS_OK) {
        return status;
    }
    size_t length = w->letters.length - from;
    if (times == 0) {
        w->letters.length = from;
        return MS_OK;
    }
    ms_buffer once; /* the letters lie in the buffer that grows */
    ms_buffer_init(&once);
    ms_buffer_add(&once, ms_buffer_text(&w->letters) + from, length);
    status = repeat(w, ms_buffer_text(&once), once.length, times - 1);
    w->letters.failed = w->letters.failed || once.failed;
    ms_buffer_release(&once);
    return status;
}

static ms_status unroll(layout_walk *w) {
    ms_status status = MS_OK;
    for (w->at = w->text; *w->at != '\0' && status == MS_OK;) {
        status = *w->at == '(' ? read_bracket(w) : read_letter(w);
    }
    if (status == MS_OK && w->letters.failed) {
        status = ms_diag_no_memory(w->diag);
    }
    return status;
}

/* What stands in a layout, once. */
typedef struct layout_count {
    int embeddings, losses;
    bool is_first_embedding, is_last_loss, is_late_layer, has_parted_mtp;
} layout_count;

static void count_letter(char letter, int stage, ms_megatron_layout *out, layout_count *count) {
    switch (letter) {
    case 'E':
        count->embeddings++;
        break;
    case 't':
        out->layers[stage]++;
        out->total++;
        count->is_late_layer = count->is_late_layer || out->mtp_layers > 0;
        break;
    case 'm':
        count->has_parted_mtp =
            count->has_parted_mtp || (out->mtp_layers > 0 && out->mtp_stage != stage);
        out->mtp_stage = stage;
        out->mtp_layers++;
        break;
    default:
        out->loss_stage = stage;
        count->losses++;
        break;
    }
}

static void count_letters(const char *letters, ms_megatron_layout *out, layout_count *count) {
    int stage = 0;
    char first = '\0', last = '\0';
    for (const char *at = letters; *at != '\0'; at++) {
        if (*at == '|') {
            stage++;
            continue;
        }
        first = first == '\0' ? *at : first;
        last = *at;
        count_letter(*at, stage, out, count);
    }
    count->is_first_embedding = first == 'E';
    count->is_last_loss = last == 'L';
}

static ms_status check(const layout_walk *w, const layout_count *count) {
    const struct {
        bool is_wrong;
        const char *expected;
    } RULES[] = {
        {!count->is_first_embedding || count->embeddings != 1, "one E, before all else"},
        {!count->is_last_loss || count->losses != 1, "one L, behind all else"},
        {count->is_late_layer, "every m behind all t"},
        {count->has_parted_mtp, "all m in one stage"},
    };
    for (size_t i = 0; i < sizeof RULES / sizeof RULES[0]; i++) {
        if (RULES[i].is_wrong) {
            ms_diag_at(w->diag, w->mark, FLAG, "expected %s, got '%s'", RULES[i].expected, w->text);
            return MS_E_INPUT;
        }
    }
    return MS_OK;
}

static ms_status lay(const layout_walk *w, ms_arena *arena, ms_megatron_layout *layout_out) {
    const char *letters = ms_buffer_text(&w->letters);
    layout_count count = {.embeddings = 0};
    ms_megatron_layout out = {.stages = 1, .mtp_stage = -1};
    for (const char *at = letters; *at != '\0'; at++) {
        out.stages += *at == '|';
    }
    out.layers = MS_NEW(arena, int, out.stages);
    if (out.layers == NULL) {
        return ms_diag_no_memory(w->diag);
    }
    count_letters(letters, &out, &count);
    ms_status status = check(w, &count);
    if (status == MS_OK) {
        out.has_alone_end = out.layers[0] == 0 || out.layers[out.loss_stage] == 0;
        *layout_out = out;
    }
    return status;
}

/* A copy without commas, which are for looks, and without the backslashes of a script's quoting. */
static char *strip(const char *text, ms_arena *arena) {
    char *plain = MS_NEW(arena, char, strlen(text) + 1);
    size_t kept = 0;
    for (const char *at = text; plain != NULL && *at != '\0'; at++) {
        if (*at != ',' && *at != '\\') {
            plain[kept++] = *at;
        }
    }
    return plain;
}

ms_status ms_megatron_read_layout(const char *text, const ms_mark *mark, ms_arena *arena,
                                  ms_diag *diag, ms_megatron_layout *layout_out) {
    layout_walk w = {.text = strip(text, arena), .mark = mark, .diag = diag};
    if (w.text == NULL) {
        return ms_diag_no_memory(diag);
    }
    ms_buffer_init(&w.letters);
    ms_status status = unroll(&w);
    status = status == MS_OK ? lay(&w, arena, layout_out) : status;
    ms_buffer_release(&w.letters);
    return status;
}
