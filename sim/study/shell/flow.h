/* What the files that follow branches and loops share. */
#ifndef MS_SHELL_FLOW_H
#define MS_SHELL_FLOW_H

#include "study/shell/parts.h"

/* Words that begin or end more than a command, a bit each. */
enum {
    MS_SHELL_AT_IF = 1U << 0,
    MS_SHELL_AT_THEN = 1U << 1,
    MS_SHELL_AT_ELIF = 1U << 2,
    MS_SHELL_AT_ELSE = 1U << 3,
    MS_SHELL_AT_FI = 1U << 4,
    MS_SHELL_AT_CASE = 1U << 5,
    MS_SHELL_AT_ESAC = 1U << 6,
    MS_SHELL_AT_FOR = 1U << 7,
    MS_SHELL_AT_WHILE = 1U << 8,
    MS_SHELL_AT_DO = 1U << 9,
    MS_SHELL_AT_DONE = 1U << 10,
    MS_SHELL_AT_OPEN = 1U << 11,
    MS_SHELL_AT_CLOSE = 1U << 12,
    MS_SHELL_AT_FUNCTION = 1U << 13,
    MS_SHELL_AT_NOT = 1U << 14,
    MS_SHELL_AT_SHELL = 1U << 15,
    MS_SHELL_AT_SHELL_END = 1U << 16,
    MS_SHELL_AT_CLAUSE_END = 1U << 17,
};

/* ---- flow.c ---- */

/* The bit of the word that stands here; 0: another. */
unsigned ms_shell_peek(const ms_shell_reader *r);

/* Take the word that stands here.  Returns its bit. */
unsigned ms_shell_take(ms_shell_reader *r);

/* Read commands up to a word of `ends`, which is taken.  *truth_out: what the last one answers.
 * Returns the word; 0 where the text ends before. */
unsigned ms_shell_read_list(ms_shell_reader *r, unsigned ends, ms_shell_truth *truth_out);

/* Read commands with '|' between them; what is answered is the last one's. */
ms_shell_truth ms_shell_read_pipeline(ms_shell_reader *r);

/* Read a list, or, with 0 ends, a pipeline as if nothing of it was run.  *end_out: the word that it
 * ended with.  Returns whether it would end the script. */
bool ms_shell_pass(ms_shell_reader *r, unsigned ends, unsigned *end_out);

/* ---- branches.c ---- */

/* A branch while it is read. */
typedef struct ms_shell_branch {
    ms_mark mark;
    const char *from;     /* its first letter */
    size_t changes;       /* met before it */
    int first, last;      /* lines that are taken; 0: none */
    ms_shell_doubt doubt; /* of its conditions so far */
    ms_shell_doubt outer; /* of the condition that it stands in */
    bool is_taken;
} ms_shell_branch;

/* start: where its first word stands. */
ms_shell_branch ms_shell_begin_branch(ms_shell_reader *r, const ms_shell_cursor *start);

/* Read the part behind a condition, which is run if that holds and none before it was.  ends,
 * *end_out: as for ms_shell_pass. */
void ms_shell_take_part(ms_shell_reader *r, ms_shell_branch *b, ms_shell_truth truth, unsigned ends,
                        unsigned *end_out);

/* Tell what was taken on a doubt, where it makes a difference. */
void ms_shell_end_branch(ms_shell_reader *r, const ms_shell_branch *b);

/* Read on behind the word that one begins with.  start: where that word stands. */
void ms_shell_read_if(ms_shell_reader *r, const ms_shell_cursor *start);
void ms_shell_read_case(ms_shell_reader *r, const ms_shell_cursor *start);
void ms_shell_read_for(ms_shell_reader *r, const ms_shell_cursor *start);
void ms_shell_read_while(ms_shell_reader *r, const ms_shell_cursor *start);

#endif
