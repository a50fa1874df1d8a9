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

/* In a file a cell of variable length is its length in four bytes, the least significant first, and
 * the address of its contents. HDF5 passes these bytes to a conversion function; this one keeps
 * only the length. Source: HDF5 File Format Specification, version 3.0, section VIII.B. */
static herr_t keep_lengths(hid_t from, hid_t to, H5T_cdata_t *data, size_t count, size_t stride,
                           size_t other_stride, void *cells, void *others, hid_t list) {
    size_t step = stride > 0 ? stride : H5Tget_size(from);
    size_t size = H5Tget_size(to);
    (void)other_stride;
    (void)others;
    (void)list;
    if (data->command == H5T_CONV_INIT) {
        data->need_bkg = H5T_BKG_NO;
        return size == sizeof(uint32_t) && H5Tget_size(from) >= size ? 0 : -1;
    }
    for (size_t i = 0; data->command == H5T_CONV_CONV && i < count; i++) {
        memmove((char *)cells + i * (stride > 0 ? stride : size), (char *)cells + i * step, size);
    }
    return 0;
}

int64_t ms_h5_lengths(hid_t from, hssize_t count, ms_arena *scratch) {
    static bool is_known = false;
    if (!is_known) {
        hid_t variable = H5Tvlen_create(H5T_NATIVE_INT8);
        is_known = variable >= 0 && H5Tregister(H5T_PERS_SOFT, "lengths", variable, H5T_STD_U32LE,
                                                keep_lengths) >= 0;
        (void)H5Tclose(variable);
    }
    uint8_t(*lengths)[sizeof(uint32_t)] = ms_arena_alloc(scratch, (size_t)count, sizeof *lengths);
    herr_t result = -1;
    if (is_known && lengths != NULL) {
        result = H5Iget_type(from) == H5I_ATTR
                     ? H5Aread(from, H5T_STD_U32LE, lengths)
                     : H5Dread(from, H5T_STD_U32LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, lengths);
    }
    int64_t sum = 0;
    for (hssize_t i = 0; result >= 0 && i < count; i++) {
        for (size_t byte = 0; byte < sizeof(uint32_t); byte++) {
            sum += (int64_t)lengths[i][byte] << (8 * byte);
        }
    }
    return result < 0 ? -1 : sum;
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
    if (found.error == 0 && error == EIO) {
        found.error = EIO; /* of a call whose error HDF5 does not tell, such as fstat() */
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
    (void)H5PLset_loading_state(0); /* no plug-ins, whatever a file asks for */
}
