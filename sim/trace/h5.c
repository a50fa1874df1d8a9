/* Types of cells and errors of HDF5 (h5.h). This is the only file that depends on the wording of
 * HDF5's error messages. */
#include "trace/h5.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t ms_h5_cell_B(ms_h5_cell cell) {
    static const size_t SIZES[MS_H5_CELLS] = {[MS_H5_KIND] = 1,
                                              [MS_H5_AXIS] = 1,
                                              [MS_H5_I16] = 2,
                                              [MS_H5_I32] = 4,
                                              [MS_H5_I64] = 8,
                                              [MS_H5_F64] = 8,
                                              [MS_H5_TEXT] = MS_H5_TEXT_B};
    return SIZES[cell];
}

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

/* The cause of a failure, collected from HDF5's error stack. */
typedef struct failure {
    int error;        /* errno in a message of HDF5; 0: none */
    bool has_no_room; /* an allocation of HDF5 failed */
    char words[200];  /* text of the innermost record of the stack that has one */
} failure;

/* Collect the cause from a record of the error stack, for H5Ewalk2. HDF5 writes a system error into
 * the text of its innermost record: "..., errno = 28, ...".  depth: 0 for the innermost record,
 * which is visited first. */
static herr_t collect_cause(unsigned depth, const H5E_error2_t *record, void *context) {
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

/* HDF5's stack of errors is searched for an error of the system; without one the text of the stack
 * is the cause. */
ms_status ms_h5_failure(char *cause_out, size_t size) {
    int error = errno;
    failure found = {.error = 0};
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect_cause, &found);
    if (found.has_no_room || found.error == ENOMEM || error == ENOMEM) {
        snprintf(cause_out, size, "out of memory");
        return MS_E_NOMEM;
    }
    if (found.error == 0 && error == EIO) {
        found.error = EIO; /* of a call whose error HDF5 does not report, such as fstat() */
    }
    if (found.error != 0) {
        /* errors that damaged numbers in the file cause, such as a seek before its start */
        bool is_of_the_file = found.error == EINVAL || found.error == EOVERFLOW;
        snprintf(cause_out, size, "%s", strerror(found.error));
        return is_of_the_file ? MS_E_INPUT : MS_E_IO;
    }
    snprintf(cause_out, size, "HDF5%s %s", found.words[0] == '\0' ? "" : ":",
             found.words[0] == '\0' ? "failed" : found.words);
    return MS_E_INPUT;
}

herr_t ms_h5_set_fault(ms_h5_fault *fault, ms_status status, const char *format, ...) {
    if (fault->status == MS_OK) {
        va_list args;
        va_start(args, format);
        vsnprintf(fault->cause, MS_CHILD_CAUSE_B, format, args);
        va_end(args);
        fault->status = status;
    }
    return -1;
}

herr_t ms_h5_fault_of_call(ms_h5_fault *fault, const char *object_path) {
    char cause[256];
    ms_status status = ms_h5_failure(cause, sizeof cause);
    return status == MS_E_INPUT && object_path != NULL
               ? ms_h5_set_fault(fault, status, "the trace is damaged at %s", object_path)
               : ms_h5_set_fault(fault, status, "%s", cause);
}

int64_t ms_h5_read_integer(hid_t object, const char *name, const char *object_path,
                           ms_h5_fault *fault) {
    int64_t integer = 0;
    hid_t attribute = fault->status == MS_OK ? H5Aopen(object, name, H5P_DEFAULT) : -1;
    hid_t space = attribute < 0 ? -1 : H5Aget_space(attribute);
    if (space < 0 || H5Sget_simple_extent_npoints(space) != 1 ||
        H5Aread(attribute, H5T_NATIVE_INT64, &integer) < 0) {
        (void)ms_h5_fault_of_call(fault, object_path);
    }
    (void)H5Sclose(space);
    (void)H5Aclose(attribute);
    return integer;
}

bool ms_h5_start(void) {
    (void)H5dont_atexit();
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return H5open() >= 0 && H5PLset_loading_state(0) >= 0;
}
