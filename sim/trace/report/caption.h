/* Captions of stacked pictures: a line under each picture with the inputs of its run that differ
 * from those of the first picture's run. */
#ifndef MS_REPORT_CAPTION_H
#define MS_REPORT_CAPTION_H

#include "trace/compare_inputs.h"

/* Copy path and inputs of the first trace, which captions of other traces need.  *kept_out: in
 * `arena`, with all else empty; it borrows nothing of the trace.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_caption_keep(const ms_trace *trace, ms_arena *arena, ms_trace *kept_out);

/* Make the caption of a trace, such as "against a.h5: mesh.dp 1 in place of 2, mesh.tp 4 in place
 * of 2, and 3 more". first: of ms_caption_keep.  *caption_out: in `arena`.  Returns MS_OK; as
 * ms_compare_inputs. */
ms_status ms_caption_make(const ms_trace *first, const ms_trace *trace, ms_arena *arena,
                          ms_diag *diag, const char **caption_out);

/* The name of a schedule; of a file without prefix and folders, such as "eager.csv" of
 * "csv:/home/me/eager.csv", so that the picture does not depend on where the file lies.  Returns a
 * part of `name`. */
const char *ms_caption_short(const char *name);

#endif
