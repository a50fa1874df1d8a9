/* Pieces: which segments of a pass become one operation at granularity `pass` (decision note
 * pieces.md). */
#ifndef MS_LOWER_PIECES_H
#define MS_LOWER_PIECES_H

#include "base/status.h"
#include "schedule/schedule.h"
#include "simulate/graph/dag.h"

/* Maximum number of different sets of axes that the groups of collectives in a pass span: every set
 * of tp, cp and ep, in the mesh and in the mesh of the experts. */
enum { MS_PIECE_AXES = 16 };

struct ms_lowering;

/* The sets of simulated ranks of a pipeline rank that run a piece together: ranks that are in a
 * common group of one of its collectives, directly or through other ranks. */
typedef struct ms_piece_places {
    struct ms_piece_places *next; /* the record made before it */
    int p;                        /* pipeline rank */
    unsigned axes[MS_PIECE_AXES]; /* [axes_count] sets of axes that groups of the piece's
                                     collectives span, in the order of first use */
    int axes_count;
    int count;   /* number of sets of ranks */
    int *first;  /* [count + 1] into places: the first rank of each set */
    int *places; /* [simulated_per_pp] simulated ranks by their class k, set after set */
} ms_piece_places;

/* A run: consecutive segments of a pass that are one operation, a piece. */
typedef struct ms_piece_run {
    int first, end; /* segments of the plan, from `first` to before `end` */
    int32_t work;   /* index of the work that is the piece */
    int *waits;     /* [wait_count] asynchronous collectives before the run that it waits for, as
                       segments of the plan, each once */
    int wait_count;
    const ms_piece_places *places; /* the sets of ranks that run the piece together */
} ms_piece_run;

/* The pieces of a pass, in the order of segments. */
typedef struct ms_pass_layout {
    ms_piece_run *runs; /* [count] */
    int count;
} ms_pass_layout;

/* All layouts made so far. */
typedef struct ms_pieces {
    ms_pass_layout **of; /* [stages * slices * MS_PASS_COUNT * MASKS] entries are NULL until used;
                            `of` itself is NULL at granularity `layer` */
    ms_piece_places *places; /* list of records, the newest first */
} ms_pieces;

/* Prepare the table of layouts at granularity `pass`; else do nothing.  Returns MS_OK; MS_E_NOMEM.
 */
ms_status ms_pieces_init(struct ms_lowering *l);

/* Find the pieces of an action on pipeline rank `p`, laid out on first use.  whens: set of 1 <<
 * ms_when of the conditional segments that run on its microbatch.  *layout_out: borrowed; NULL at
 * granularity `layer`, and where simulated ranks of `p` compute at different speeds.  Returns
 * MS_OK; MS_E_NOMEM; MS_E_INPUT as ms_works_plan. */
ms_status ms_pieces_find(struct ms_lowering *l, int p, const ms_action *action, unsigned whens,
                         const ms_pass_layout **layout_out);

#endif
