/* The key of a stored row: a digest of the job (workload, platform, the contents of the files that
 * these name) and of the program that simulates it (its version and SimGrid's). Two jobs with one
 * key have the same result. */
#include <string.h>

#include "base/buffer.h"
#include "search/store.h"
#include "simulate/engine/engine.h"

/* Version of the text that the digest is taken of. It is part of the text, so with another number
 * no earlier row is found. */
#define KEY_VERSION "meshsim-point 1"

/* Append a part of the text: a line with its name and its length, then its text. The length marks
 * where the part ends. */
static void put_part(ms_buffer *out, const char *name, const char *text) {
    ms_buffer_printf(out, "%s %zu\n", name, strlen(text));
    ms_buffer_puts(out, text);
}

/* Append the contents of a file. path: a relative one starts at `folder`. Returns MS_OK; MS_E_INPUT
 * or MS_E_IO (reported) if the file cannot be read; MS_E_NOMEM. */
static ms_status put_file(ms_buffer *out, const char *folder, const char *path, ms_diag *diag) {
    ms_buffer full_path;
    ms_buffer text;
    ms_buffer_init(&full_path);
    ms_buffer_init(&text);
    if (path[0] != '/' && folder != NULL) {
        ms_buffer_printf(&full_path, "%s/", folder);
    }
    ms_buffer_puts(&full_path, path);
    ms_status status = full_path.failed ? MS_E_NOMEM : MS_OK;
    status = status == MS_OK ? ms_file_read(ms_buffer_text(&full_path), MS_FILE_CSV, &text, diag)
                             : status;
    put_part(out, "file", ms_buffer_text(&text));
    ms_buffer_release(&full_path);
    ms_buffer_release(&text);
    return status;
}

/* Append the GPU's table of measured kernels, because the platform's text holds only the name of
 * the table's file. table: NULL: there is none. */
static void put_kernels(ms_buffer *out, const ms_kernel_table *table) {
    for (int kernel = 0; table != NULL && kernel < MS_MEASURED_COUNT; kernel++) {
        for (int i = 0; i < table->counts[kernel]; i++) {
            const ms_measured_row *row = &table->rows[kernel][i];
            ms_buffer_printf(out, "kernel %d", kernel);
            for (int size = 0; size < MS_MEASURED_SIZES; size++) {
                ms_buffer_printf(out, " %.17g", row->sizes[size]);
            }
            ms_buffer_printf(out, " %.17g\n", row->time_s);
        }
    }
}

/* The digest is taken of a text that holds the program, SimGrid's version, the spec without names,
 * the effective platform, measured kernels, and the files of the schedule and of the placement. */
ms_status ms_store_key(const ms_job_spec *spec, const char *program, ms_diag *diag,
                       char key_out[MS_SHA256_HEX]) {
    ms_buffer workload;
    ms_buffer text;
    ms_buffer_init(&workload);
    ms_buffer_init(&text);
    ms_job_spec plain = *spec; /* without what does not change the result: names, descriptions */
    plain.name = NULL;
    plain.description = NULL;
    if (spec->platform.text != NULL) { /* the text of the effective platform covers both */
        plain.platform.file = "";
        plain.platform.changes = NULL;
    }
    ms_status status = ms_job_spec_write(&plain, &workload);
    put_part(&text, KEY_VERSION " program", program);
    put_part(&text, "simgrid", ms_engine_simgrid_version());
    put_part(&text, "workload", ms_buffer_text(&workload));
    put_part(&text, "platform", spec->platform.text == NULL ? "" : spec->platform.text);
    if (status == MS_OK && spec->platform.cluster != NULL) {
        put_kernels(&text, spec->platform.cluster->gpu.measured);
    }
    if (status == MS_OK && spec->schedule.csv != NULL) {
        status = put_file(&text, spec->folder, spec->schedule.csv, diag);
    }
    if (status == MS_OK && spec->placement.file != NULL) {
        status = put_file(&text, spec->placement.folder, spec->placement.file, diag);
    }
    status = status == MS_OK && text.failed ? MS_E_NOMEM : status;
    if (status == MS_OK) {
        ms_sha256_hex(ms_buffer_text(&text), text.length, key_out);
    }
    ms_buffer_release(&workload);
    ms_buffer_release(&text);
    return status;
}
