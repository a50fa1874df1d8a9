/* What differs between the inputs of runs whose pictures are stacked, in a line under each. */
#ifndef MS_REPORT_CAPTION_H
#define MS_REPORT_CAPTION_H

#include "trace/compare_inputs.h"

/* Keep of a trace what captions of others need: its path and inputs.  *kept_out: in `arena`, the
 * trace itself need not last.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_caption_keep(const ms_trace *trace, ms_arena *arena, ms_trace *kept_out);

/* A line such as "against a.h5: mesh.dp 1 in place of 2, mesh.tp 4 in place of 2, and 3 more".
 * first: of ms_caption_keep.  *caption_out: in `arena`.  Returns MS_OK; as ms_compare_inputs. */
ms_status ms_caption_make(const ms_trace *first, const ms_trace *trace, ms_arena *arena,
                          ms_diag *diag, const char **caption_out);

/* A schedule's name, of a file without its folders: "eager.csv" of "csv:/home/me/eager.csv",
 * because a picture is no other one where the file lay elsewhere. */
const char *ms_caption_short(const char *name);

#endif
