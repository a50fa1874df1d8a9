#include "trace/h5_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hid_t ms_h5_memory_type(ms_h5_cell cell) {
    switch (cell) {
    case MS_H5_KIND:
    case MS_H5_AXIS:
        return H5T_NATIVE_INT8;
    case MS_H5_I16:
        return H5T_NATIVE_INT16;
    case MS_H5_I32:
        return H5T_NATIVE_INT32;
    case MS_H5_I64:
        return H5T_NATIVE_INT64;
    default:
        return H5T_NATIVE_DOUBLE;
    }
}

typedef struct failure {
    int error;        /* the system's; 0: none was told */
    bool has_no_room; /* HDF5 asked for memory in vain */
    char words[200];  /* HDF5's, of the innermost record that has some */
} failure;

/* HDF5 puts the system's error into the text of its innermost record: "..., errno = 28, ...". */
static herr_t look_at(unsigned depth, const H5E_error2_t *record, void *context) {
    failure *found = context;
    const char *text = record->desc == NULL ? "" : record->desc;
    const char *number = strstr(text, "errno = ");
    if (number != NULL) {
        found->error = (int)strtol(number + strlen("errno = "), NULL, 10);
    }
    found->has_no_room = found->has_no_room || record->maj_num == H5E_RESOURCE ||
                         record->min_num == H5E_NOSPACE || record->min_num == H5E_CANTALLOC;
    if (depth == 0 || found->words[0] == '\0') {
        snprintf(found->words, sizeof found->words, "%s", text);
    }
    return 0;
}

/* Errors of the system that a file's own numbers bring about, such as a place before its start. */
static bool is_of_the_file(int error) {
    return error == EINVAL || error == EOVERFLOW;
}

ms_status ms_h5_failure(char *cause_out, size_t size) {
    int error = errno;
    failure found = {.error = 0};
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, look_at, &found);
    if (found.has_no_room || found.error == ENOMEM || error == ENOMEM) {
        snprintf(cause_out, size, "out of memory");
        return MS_E_NOMEM;
    }
    if (found.error != 0) {
        snprintf(cause_out, size, "%s", strerror(found.error));
        return is_of_the_file(found.error) ? MS_E_INPUT : MS_E_IO;
    }
    snprintf(cause_out, size, "HDF5%s %s", found.words[0] == '\0' ? "" : ":",
             found.words[0] == '\0' ? "failed" : found.words);
    return MS_E_INPUT;
}

void ms_h5_quiet(void) {
    (void)H5dont_atexit();
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}
