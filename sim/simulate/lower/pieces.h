/* Pieces: which segments of a pass become one operation at granularity `pass`. See decision note
 * pieces.md beside this file. */
#ifndef MS_LOWER_PIECES_H
#define MS_LOWER_PIECES_H

#include "base/status.h"
#include "schedule/schedule.h"
#include "simulate/graph/dag.h"

/* Sets of axes that the groups of collectives in a pass span: at most each set of tp, cp and ep, in
 * the mesh and in that of the experts. */
enum { MS_PIECE_AXES = 16 };

struct ms_lowering;

/* Simulated ranks of a pipeline rank that go through a piece together: those that its collectives
 * join, directly or through others. */
typedef struct ms_piece_places {
    struct ms_piece_places *next; /* made before it */
    int p;                        /* pipeline rank */
    unsigned axes[MS_PIECE_AXES]; /* [axes_count] that groups of the piece's collectives span, in
                                     order of first use */
    int axes_count;
    int count;   /* sets of ranks */
    int *first;  /* [count + 1] into places */
    int *places; /* set after set */
} ms_piece_places;

/* Segments that are one operation. */
typedef struct ms_piece_run {
    int first, end; /* of the plan */
    int32_t work;
    int *waits; /* [wait_count] asynchronous segments before it that it waits for, each once */
    int wait_count;
    const ms_piece_places *places;
} ms_piece_run;

/* The pieces of a pass, first segment first. */
typedef struct ms_pass_layout {
    ms_piece_run *runs;
    int count;
} ms_pass_layout;

/* Layouts made so far. */
typedef struct ms_pieces {
    ms_pass_layout **of; /* [stages * slices * MS_PASS_COUNT * MASKS] NULL until used; NULL itself
                            at granularity layer */
    ms_piece_places *places; /* the newest */
} ms_pieces;

/* Prepare for granularity `pass`.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_pieces_init(struct ms_lowering *l);

/* The pieces of an action on pipeline rank `p`, laid out on first use.  whens: 1 << ms_when of the
 * segments that run on its microbatch.  *layout_out: NULL at granularity layer, and
 * where ranks that would go through a piece together compute at different speeds.  Returns MS_OK;
 * MS_E_NOMEM; MS_E_INPUT as ms_works_plan. */
ms_status ms_pieces_find(struct ms_lowering *l, int p, const ms_action *action, unsigned whens,
                         const ms_pass_layout **layout_out);

#endif
