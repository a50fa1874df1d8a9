/* Comments of shell scripts, and what "#SBATCH" lines among them ask for, as far as it counts GPUs.
 * Source: Slurm, sbatch(1), options and output environment variables. */
#include <stdlib.h>
#include <string.h>

#include "study/shell/parts.h"

/* Options, and the variables that a script finds what they ask for in. */
static const struct {
    const char *option; /* long */
    char letter;
    bool has_kind; /* "gpu:h100:8", of which the last part counts */
    const char *variables[3];
} ROWS[] = {
    {"--nodes", 'N', false, {"SLURM_NNODES", "SLURM_JOB_NUM_NODES", NULL}},
    {"--ntasks", 'n', false, {"SLURM_NTASKS", "SLURM_NPROCS", NULL}},
    {"--ntasks-per-node", '\0', false, {"SLURM_NTASKS_PER_NODE", NULL, NULL}},
    {"--gpus-per-node", '\0', true, {"SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE", NULL}},
    {"--gres", '\0', true, {"SLURM_GPUS_ON_NODE", NULL, NULL}},
};
enum { ROW_COUNT = sizeof ROWS / sizeof ROWS[0] };

/* The row of an option; *value_out: behind its sign or blank. */
static int find_row(const char *at, const char *end, const char **value_out) {
    for (int i = 0; i < ROW_COUNT; i++) {
        size_t length = strlen(ROWS[i].option);
        bool is_long = (size_t)(end - at) > length && memcmp(at, ROWS[i].option, length) == 0 &&
                       strchr("= \t", at[length]) != NULL;
        bool is_short =
            end - at > 2 && at[0] == '-' && ROWS[i].letter != '\0' && at[1] == ROWS[i].letter;
        if (is_long || is_short) {
            *value_out = at + (is_long ? length : 2);
            *value_out += strspn(*value_out, "= \t");
            return i;
        }
    }
    return -1;
}

/* What the script finds, unless its surroundings were said to set it otherwise. */
static void set_all(ms_shell_reader *r, int row, const char *value, const ms_mark *mark) {
    if (value == NULL) {
        ms_shell_lack_memory(r);
        return;
    }
    const ms_shell_word word = {.text = value, .mark = *mark};
    for (int i = 0; i < 3 && ROWS[row].variables[i] != NULL; i++) {
        const char *name = ROWS[row].variables[i];
        const ms_shell_variable *found = ms_shell_find(r, name, strlen(name));
        if (found == NULL || found->words == NULL) {
            ms_shell_set(r, name, &word);
        } else if (i == 0 && found->count > 0) {
            value = found->words[0].text;
        }
    }
    const ms_shell_word asked = {
        .text = ms_arena_printf(r->arena, "%s %s", ROWS[row].option, value), .mark = *mark};
    if (asked.text == NULL || ms_vector_add(&r->out->batch, &asked, 1) == NULL) {
        ms_shell_lack_memory(r);
    }
}

/* An option with its value, if there is one, up to the end of a text. */
static void take_option(ms_shell_reader *r, int row, const char *value, const char *end,
                        const ms_mark *mark) {
    size_t length = value >= end ? 0 : strcspn(value, " \t\r\n#");
    if (length == 0 || value + length > end) {
        return;
    }
    const char *from = value, *last = value + length;
    while (ROWS[row].has_kind && last > value && last[-1] != ':') {
        last--;
    }
    from = ROWS[row].has_kind ? last : from;
    length -= (size_t)(from - value);
    set_all(r, row, ms_arena_strndup(r->arena, from, length), mark);
}

void ms_shell_take_batch(ms_shell_reader *r, const ms_vector *words) {
    for (size_t i = 0; i < words->count && r->status == MS_OK; i++) {
        const ms_shell_word *word = &MS_AT(words, ms_shell_word, i);
        const char *next = i + 1 < words->count ? word[1].text : "";
        const char *text = strchr(word->text, '=') != NULL || strlen(word->text) > 2
                               ? ms_arena_printf(r->arena, "%s %s", word->text, next)
                               : ms_arena_printf(r->arena, "%s%s", word->text, next);
        const char *value = NULL;
        int row = text == NULL ? -1 : find_row(text, text + strlen(text), &value);
        if (row >= 0) {
            take_option(r, row, value, text + strlen(text), &word->mark);
        }
    }
}

/* Read what a line "#SBATCH" at the cursor asks for. */
static void read_batch(ms_shell_reader *r) {
    const ms_shell_cursor *c = &r->cursor;
    const char *end = memchr(c->at, '\n', (size_t)(c->end - c->at));
    end = end == NULL ? c->end : end;
    const char *at = c->at + strcspn(c->at, " \t");
    const ms_mark mark = ms_shell_mark_here(r);
    while (at < end && *at != '#' && r->status == MS_OK) {
        const char *value = NULL;
        int row = find_row(at, end, &value);
        if (row >= 0) {
            take_option(r, row, value, end, &mark);
        }
        while (at < end && *at != ' ' && *at != '\t') {
            at++;
        }
        while (at < end && (*at == ' ' || *at == '\t')) {
            at++;
        }
    }
}

void ms_shell_skip_comment(ms_shell_reader *r) {
    static const char BATCH[] = "#SBATCH";
    const ms_shell_cursor *c = &r->cursor;
    bool is_batch = c->at == c->line_start && (size_t)(c->end - c->at) > sizeof BATCH &&
                    memcmp(c->at, BATCH, sizeof BATCH - 1) == 0;
    if (is_batch && ms_shell_is_live(r)) {
        read_batch(r);
    }
    while (r->cursor.at < r->cursor.end && *r->cursor.at != '\n') {
        r->cursor.at++;
    }
}
