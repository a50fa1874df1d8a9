/* A sink that compresses what it takes, as gzip does. */
#ifndef MS_REPORT_GZIP_H
#define MS_REPORT_GZIP_H

#include "trace/report/report.h"

typedef struct ms_gzip ms_gzip;

/* Write through `sink` what is handed to ms_gzip_put, compressed. The same text gives the same
 * bytes: the header holds neither time nor name.  *gzip_out: in `arena`, ended by ms_gzip_end.
 * Returns MS_OK; MS_E_NOMEM. */
ms_status ms_gzip_begin(ms_report_sink sink, void *context, ms_arena *arena, ms_gzip **gzip_out);

/* The sink: `gzip` is the context.  Returns as ms_report_sink. */
ms_status ms_gzip_put(void *gzip, const char *text, size_t length);

/* Write what is left, unless something failed before, and free what compressing took.  Returns
 * MS_OK, or the first failure of the sink. */
ms_status ms_gzip_end(ms_gzip *gzip);

#endif
