/* A sink (ms_report_sink) that compresses its text as gzip does and hands it to another sink. */
#ifndef MS_REPORT_GZIP_H
#define MS_REPORT_GZIP_H

#include "trace/report/report.h"

/* A compression under way. */
typedef struct ms_gzip ms_gzip;

/* Begin to compress: text of ms_gzip_put is written to `sink`. The same text gives the same bytes:
 * the header holds neither time nor name.  *gzip_out: in `arena`; the caller ends it with
 * ms_gzip_end. Returns MS_OK; MS_E_NOMEM. */
ms_status ms_gzip_begin(ms_report_sink sink, void *context, ms_arena *arena, ms_gzip **gzip_out);

/* The sink: `gzip` is the context.  Returns as ms_report_sink. */
ms_status ms_gzip_put(void *gzip, const char *text, size_t length);

/* Write the rest of the compressed text, unless a call failed before, and free the storage of the
 * compression.  Returns MS_OK, or the first failure of the sink. */
ms_status ms_gzip_end(ms_gzip *gzip);

#endif
