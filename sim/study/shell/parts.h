/* What the files that read shell scripts share. */
#ifndef MS_SHELL_PARTS_H
#define MS_SHELL_PARTS_H

#include "study/shell/shell.h"

/* Bounds of a script: they keep what puts itself in again and again from filling the memory, and
 * what calls itself from going on for ever. */
enum {
    MS_SHELL_WORDS_MAX = 20000,
    MS_SHELL_WORD_MAX_B = 1 << 16,
    MS_SHELL_TOTAL_MAX_B = 1 << 22,
    MS_SHELL_DEFAULTS_MAX = 16, /* in each other */
    MS_SHELL_NESTED_MAX = 100,  /* commands in each other */
    MS_SHELL_CALLS_MAX = 16,    /* functions in each other */
    MS_SHELL_PASSES_MAX = 1000, /* calls and passes of loops */
};

/* Blanks between words. */
#define MS_SHELL_BLANKS " \t\r"

/* Where a reading is. */
typedef struct ms_shell_cursor {
    const ms_text *text;
    const char *at, *end, *line_start;
    int line;
    const ms_mark *whole; /* of a text that is put together: the place of all of it; else NULL */
} ms_shell_cursor;

/* A word under construction. */
typedef struct ms_shell_draft {
    ms_buffer text;
    ms_mark mark;
    bool has_word, is_quoted, is_open;
    bool is_dropped; /* behind a redirection */
    bool is_input;   /* behind "<<<": what the command reads */
} ms_shell_draft;

/* What a condition is, as far as the script says. */
typedef enum ms_shell_truth { MS_SHELL_NO, MS_SHELL_YES, MS_SHELL_OPEN } ms_shell_truth;

/* What a condition under construction rests on. */
typedef struct ms_shell_doubt {
    bool is_presumed;   /* on a variable that is not set here being empty */
    const char *reason; /* of the first doubt; NULL: none */
} ms_shell_doubt;

/* What ends a list of commands before its last. */
typedef enum ms_shell_stop {
    MS_SHELL_GOES_ON,
    MS_SHELL_CONTINUES, /* the pass of a loop */
    MS_SHELL_BREAKS,    /* the loop */
    MS_SHELL_RETURNS,   /* the function */
    MS_SHELL_EXITS,
} ms_shell_stop;

/* A function, by where its commands stand. */
typedef struct ms_shell_function {
    const char *name;
    ms_shell_cursor body; /* behind its opening brace */
    bool ends_script;     /* as one that tells how a script is used */
} ms_shell_function;

/* What commands print that a shell would put in: "$(...)". */
typedef struct ms_shell_output {
    ms_buffer text;
    bool is_open; /* some of it only running them would tell */
} ms_shell_output;

/* What a reading has met, apart from words. */
typedef struct ms_shell_state {
    ms_vector functions;         /* ms_shell_function */
    ms_vector passed_over;       /* names of variables that commands set that are not run */
    const ms_vector *given;      /* ms_shell_word, positional parameters from the first; NULL: not
                                    known */
    size_t shifted;              /* of them gone */
    ms_shell_variable looked_up; /* for those that are in no list */
    ms_shell_stop stop;
    const char *input_end; /* of a here-document that begins on the next line; NULL: none */
    size_t input_end_B;
    bool is_input_script;       /* it is commands for another shell */
    const ms_shell_word *input; /* what a command reads behind "<<<"; NULL: nothing that is known */
    int depth, calls, passes;
    size_t changes; /* assignments and commands met, whether run or not */
    bool has_exit;  /* a list that was passed over ends the script */
    bool asks;      /* commands answer a condition: whether they succeed is open */
    ms_shell_doubt doubt;
} ms_shell_state;

/* One reading of scripts. */
typedef struct ms_shell_reader ms_shell_reader;
struct ms_shell_reader {
    ms_shell_cursor cursor;
    ms_shell_draft draft;
    ms_shell_state state;
    ms_arena *arena;
    ms_diag *diag;
    ms_shell *out;
    const ms_shell_source *source;
    bool *is_read;           /* [texts of the source] a text was, where another one names it */
    size_t defined;          /* variables that are set from outside, the first ones */
    ms_vector *into;         /* ms_shell_word: where words go */
    size_t total_B;          /* of all words, so far */
    int defaults;            /* in each other */
    bool is_dead;            /* what is read is not run: nothing is put in or kept */
    bool tests;              /* words of a condition: what is not set is empty */
    bool is_whole;           /* variables are not cut at blanks */
    ms_shell_output *output; /* of the commands that are read; NULL: nobody asks for it */
    void (*read_all)(ms_shell_reader *r); /* ms_shell_read_all, for what words are made of */
    ms_status status;
};

/* ---- reader.c ---- */

/* Whether what is read would be run. */
bool ms_shell_is_live(const ms_shell_reader *r);

ms_mark ms_shell_mark_here(const ms_shell_reader *r);
void ms_shell_fail(ms_shell_reader *r, const char *message);
void ms_shell_lack_memory(ms_shell_reader *r);

/* Report a bracket or a quote that nothing closes. */
void ms_shell_fail_open(ms_shell_reader *r, const ms_mark *opening, char closing);

/* Pass over blanks in a line. */
static inline void ms_shell_skip_spaces(ms_shell_cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\r')) {
        c->at++;
    }
}

/* Move on to a place, counting lines. */
void ms_shell_skip_to(ms_shell_reader *r, const char *to);

/* The end of a bracket that opens at `at`, of as many letters on both sides; the text's end where
 * it is not closed. */
const char *ms_shell_bracket_end(const ms_shell_reader *r, const char *at, char open, char close);

bool ms_shell_is_name(char letter);

/* Begin a word unless one is begun, add to it, end it if one is begun.  text: NULL: there was no
 * memory for it, which is kept. */
void ms_shell_begin_word(ms_shell_reader *r);
void ms_shell_put(ms_shell_reader *r, const char *text, size_t length);
void ms_shell_put_text(ms_shell_reader *r, const char *text);
void ms_shell_end_word(ms_shell_reader *r);

/* The word so far, in the arena; NULL: no memory. */
const char *ms_shell_draft_text(ms_shell_reader *r);

/* ---- values.c ---- */

/* Read digits, with a sign; false where the text is none. */
bool ms_shell_read_number(const char *text, long long *value_out);

/* Whether a name is that of a positional parameter. */
bool ms_shell_is_number(const char *name, size_t length);

/* The value of a name, which may be a number; NULL: nothing sets it.  Valid until the next call. */
const ms_shell_variable *ms_shell_find(ms_shell_reader *r, const char *name, size_t length);

/* All positional parameters, for "$@"; NULL: not known.  Valid likewise. */
const ms_shell_variable *ms_shell_find_all_given(ms_shell_reader *r);

/* Keep what was assigned.  before: what "+=" adds to: words to an array, text to a variable; NULL:
 * nothing. */
void ms_shell_assign(ms_shell_reader *r, const char *name, ms_vector *words, bool is_array,
                     const ms_shell_variable *before);

/* The value of one key of an array: "NAME[key]" by its own name, "[key]=value" among its words, or
 * the word at an index.  *word_out: written where there is one.  Returns whether there is. */
bool ms_shell_find_element(ms_shell_reader *r, const char *name, const char *key,
                           ms_shell_word *word_out);

/* Set one. */
void ms_shell_set_element(ms_shell_reader *r, const char *name, const char *key,
                          const ms_shell_word *word);

/* Set a variable that is one word. */
void ms_shell_set(ms_shell_reader *r, const char *name, const ms_shell_word *word);

/* Keep, unless there is one, the reason of a doubt: a name that nothing here sets; length 0: what
 * only running the script would tell. */
void ms_shell_keep_doubt(ms_shell_reader *r, const char *name, size_t length);

/* ---- words.c ---- */

/* Read a piece of a word.  Returns false where the word ends. */
bool ms_shell_read_piece(ms_shell_reader *r);

/* Read words up to a place as one word in quotes, as it is said in a default.  *word_out: its text
 * in the arena. */
void ms_shell_read_part(ms_shell_reader *r, const char *from, const char *to,
                        ms_shell_word *word_out);

/* ---- operators.c ---- */

/* A text without the part at its beginning ('#') or its end ('%') that matches a pattern, the
 * shortest one or the longest.  Returns a text in the arena, or the text itself; NULL: it is too
 * long for a search, or there is no memory. */
const char *ms_shell_trimmed(ms_arena *arena, const char *text, const char *pattern, char sign,
                             bool is_longest);

/* A text with what matches a pattern replaced: the first one, all ('/'), the beginning ('#') or the
 * end ('%').  Returns likewise. */
const char *ms_shell_replaced(ms_arena *arena, const char *text, const char *pattern,
                              const char *by, char which);

/* The place of a slice "offset:length" of `count` letters or words, both counted from the end where
 * they are negative.  Returns false where it is none. */
bool ms_shell_slice(size_t count, long long offset, const long long *length, size_t *first_out,
                    size_t *count_out);

/* ---- outputs.c ---- */

/* Add what a command prints to r->output, where that is known without running it: echo, printf,
 * expr, basename, dirname, seq; of others that they leave it open. */
void ms_shell_print(ms_shell_reader *r, const ms_vector *words);

/* Read commands from a place to another for what they print.  *word_out: that, without the ends of
 * lines behind it.  Returns false where only running them would tell. */
bool ms_shell_capture(ms_shell_reader *r, const char *from, const char *to,
                      ms_shell_word *word_out);

/* ---- expansions.c ---- */

/* Put a variable in: cut at blanks unless it is in quotes or a list. */
void ms_shell_put_variable(ms_shell_reader *r, const ms_shell_variable *variable,
                           bool is_in_quotes);

/* Read what stands here behind '$'. */
void ms_shell_read_dollar(ms_shell_reader *r, bool is_in_quotes);

/* ---- builtins.c ---- */

/* Commands that set variables in other ways than by assignments: read, set, unset, let, printf -v.
 * Returns false for others. */
bool ms_shell_set_variables(ms_shell_reader *r, const ms_vector *words);

/* ---- assignments.c ---- */

/* Read an assignment whose name has `length` letters; adds: it is "+=". */
void ms_shell_read_assignment(ms_shell_reader *r, size_t length, bool adds);

/* ---- arithmetic.c ---- */

/* Compute what stands in "$((...))".  at: of the brackets, for messages.  *value_out: written
 * where it returns true.  Returns false where the script does not say it, or a fault is reported
 * (division by zero, overflow). */
bool ms_shell_compute(ms_shell_reader *r, const char *text, const ms_mark *at,
                      long long *value_out);

/* ---- condition.c ---- */

/* What the words of a test say, of "[ ... ]" without the brackets.  is_double: it is "[[ ... ]]",
 * where a variable without quotes that is empty is a word. */
ms_shell_truth ms_shell_test(ms_shell_reader *r, const ms_vector *words, bool is_double);

/* Whether a word matches a pattern of a shell. */
ms_shell_truth ms_shell_match(ms_shell_reader *r, const ms_shell_word *word,
                              const ms_shell_word *pattern);

/* ---- commands.c ---- */

/* Read a command that is no loop or branch, up to what ends it, and keep it.  Returns what it
 * answers. */
ms_shell_truth ms_shell_read_simple(ms_shell_reader *r);

/* Pass over blanks, and over what stands between commands: ends of lines, comments, and ';' where
 * has_ends. */
void ms_shell_skip_blanks(ms_shell_reader *r, bool has_ends);

/* ---- flow.c ---- */

/* Read commands up to the end of the text. */
void ms_shell_read_all(ms_shell_reader *r);

/* Call a function with the words of a command.  Returns false if there is none of that name. */
bool ms_shell_call(ms_shell_reader *r, const ms_vector *words);

/* Read a file of the source that a command names, where it does; its positional parameters are the
 * words behind.  is_own: it has none but these.  Returns false if no word is the name of one. */
bool ms_shell_include(ms_shell_reader *r, const ms_vector *words, bool is_own);

/* ---- batch.c ---- */

/* Take what words of "sbatch" ask for. */
void ms_shell_take_batch(ms_shell_reader *r, const ms_vector *words);

/* Pass over a comment, and keep what it asks for if it is a line "#SBATCH": Slurm hands that to the
 * script in variables. */
void ms_shell_skip_comment(ms_shell_reader *r);

#endif
