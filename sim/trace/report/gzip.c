/* Compresses the text of a report with zlib, in chunks (gzip.h). */
#include "trace/report/gzip.h"

#define ZLIB_CONST /* input is read only */
#include <zlib.h>

/* Size of the chunks that are handed to the sink; zlib's default level of compression and of
 * memory. */
enum { CHUNK_B = 64 * 1024, LEVEL = 6, MEMORY_LEVEL = 8 };
/* zlib's largest window; 16 added to it asks for gzip's header, with time 0.  Source: zlib.h,
 * deflateInit2. */
enum { WINDOW_BITS = 15 + 16 };

struct ms_gzip {
    ms_report_sink sink;
    void *context;
    ms_status status; /* the first failure */
    z_stream stream;
    unsigned char chunk[CHUNK_B]; /* compressed text for the sink */
};

ms_status ms_gzip_begin(ms_report_sink sink, void *context, ms_arena *arena, ms_gzip **gzip_out) {
    ms_gzip *gzip = MS_NEW(arena, ms_gzip, 1);
    if (gzip == NULL) {
        return MS_E_NOMEM;
    }
    gzip->sink = sink;
    gzip->context = context;
    if (deflateInit2(&gzip->stream, LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        return MS_E_NOMEM;
    }
    *gzip_out = gzip;
    return MS_OK;
}

/* Compress all input of the stream and hand the output to the sink. A full chunk means that there
 * is more output.  flush: Z_NO_FLUSH, or Z_FINISH for the end of the stream. */
static void compress_input(ms_gzip *gzip, int flush) {
    do {
        gzip->stream.next_out = gzip->chunk;
        gzip->stream.avail_out = CHUNK_B;
        (void)deflate(&gzip->stream, flush); /* fails only for a stream that is not sound */
        size_t length = CHUNK_B - gzip->stream.avail_out;
        if (length > 0 && gzip->status == MS_OK) {
            gzip->status = gzip->sink(gzip->context, (const char *)gzip->chunk, length);
        }
    } while (gzip->stream.avail_out == 0 && gzip->status == MS_OK);
}

ms_status ms_gzip_put(void *context, const char *text, size_t length) {
    ms_gzip *gzip = context;
    const unsigned char *at = (const unsigned char *)text;
    while (length > 0 && gzip->status == MS_OK) {
        unsigned now = length > CHUNK_B ? CHUNK_B : (unsigned)length;
        gzip->stream.next_in = at;
        gzip->stream.avail_in = now;
        compress_input(gzip, Z_NO_FLUSH);
        at += now;
        length -= now;
    }
    return gzip->status;
}

ms_status ms_gzip_end(ms_gzip *gzip) {
    if (gzip->status == MS_OK) {
        gzip->stream.avail_in = 0;
        compress_input(gzip, Z_FINISH);
    }
    (void)deflateEnd(&gzip->stream);
    return gzip->status;
}
