/* Fused passes: which segments of a pass become one operation at granularity `pass` (decision note
 * fused_passes.md). */
#ifndef MS_LOWER_FUSED_PASSES_H
#define MS_LOWER_FUSED_PASSES_H

#include "base/status.h"
#include "schedule/schedule.h"
#include "simulate/graph/dag.h"

/* Maximum number of different sets of axes that the groups of collectives in a pass span: every set
 * of tp, cp and ep, in the mesh and in the mesh of the experts. */
enum { MS_FUSED_PASS_AXES = 16 };

struct ms_lowering;

/* The sets of simulated ranks of a pipeline rank that run a fused pass together: ranks that are in
 * a common group of one of its collectives, directly or through other ranks. */
typedef struct ms_rank_sets {
    struct ms_rank_sets *next;         /* the record that was made before this one; NULL: none */
    int p;                             /* pipeline rank */
    unsigned axes[MS_FUSED_PASS_AXES]; /* [axes_count] sets of axes that groups of the fused pass's
                                     collectives span, in the order of first use */
    int axes_count;
    int count;  /* number of sets of ranks */
    int *first; /* [count + 1] into ranks: the first rank of each set */
    int *ranks; /* [simulated_per_pp] simulated ranks by their class k, set after set */
} ms_rank_sets;

/* A run: consecutive segments of a pass that are one operation, a fused pass. */
typedef struct ms_segment_run {
    int first, end; /* segments of the plan, from `first` to before `end` */
    int32_t work;   /* index of the work that is the fused pass */
    int *waits;     /* [wait_count] asynchronous collectives before the run that it waits for, as
                       segments of the plan, each once */
    int wait_count;
    const ms_rank_sets *sets; /* the sets of ranks that run the fused pass together */
} ms_segment_run;

/* The fused passes of a pass, in the order of segments. */
typedef struct ms_pass_layout {
    ms_segment_run *runs; /* [count] */
    int count;
} ms_pass_layout;

/* All layouts made so far. */
typedef struct ms_pass_layouts {
    ms_pass_layout **of; /* [stages * slices * MS_PASS_COUNT * MASKS] entries are NULL until used;
                            `of` itself is NULL at granularity `layer` */
    ms_rank_sets *sets;  /* list of records, the newest first */
} ms_pass_layouts;

/* Prepare the table of layouts at granularity `pass`; else do nothing.  Returns MS_OK; MS_E_NOMEM.
 */
ms_status ms_pass_layouts_init(struct ms_lowering *l);

/* Find the fused passes of an action on pipeline rank `p`, laid out on first use.  whens: set of 1
 * << ms_when of the conditional segments that run on its microbatch.  *layout_out: borrowed; NULL
 * at granularity `layer`, and where simulated ranks of `p` compute at different speeds.  Returns
 * MS_OK; MS_E_NOMEM; MS_E_INPUT as ms_works_plan. */
ms_status ms_pass_layout_find(struct ms_lowering *l, int p, const ms_action *action, unsigned whens,
                              const ms_pass_layout **layout_out);

#endif
