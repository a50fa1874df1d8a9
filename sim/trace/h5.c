#include "trace/h5.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meshsim/checksum.h"
#include "meshsim/event.h"

enum { CONVERSION_B = 1024, ATTRIBUTES_MOST = 64, LINKS_LIKELY = 8, NAME_LIKELY_B = 16 };

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

bool ms_h5_check(ms_h5 *h5, int64_t status) {
    if (status < 0 && !h5->failed) {
        h5->failed = true;
        (void)ms_h5_failure(h5->cause, sizeof h5->cause);
    }
    return !h5->failed;
}

void ms_h5_fail(ms_h5 *h5, const char *cause) {
    if (!h5->failed) {
        h5->failed = true;
        snprintf(h5->cause, sizeof h5->cause, "%s", cause);
    }
}

static hid_t new_enum(ms_h5 *h5, const char *name, int count, const char *(*word)(int)) {
    hid_t type = H5Tenum_create(H5T_STD_I8LE);
    ms_h5_check(h5, type);
    for (int i = 0; i < count && !h5->failed; i++) {
        int8_t value = (int8_t)i;
        ms_h5_check(h5, H5Tenum_insert(type, word(i), &value));
    }
    /* committed, as netCDF-4 wants its user types */
    hid_t plist = H5Pcreate(H5P_DATATYPE_CREATE);
    if (ms_h5_check(h5, plist) && ms_h5_check(h5, H5Pset_obj_track_times(plist, false))) {
        ms_h5_check(h5, H5Tcommit2(h5->file, name, type, H5P_DEFAULT, plist, H5P_DEFAULT));
    }
    if (plist >= 0) {
        ms_h5_check(h5, H5Pclose(plist));
    }
    return type;
}

static const char *kind_word(int kind) {
    return ms_op_kind_name((ms_op_kind)kind);
}

static const char *axis_word(int axis) {
    return ms_axis_name((ms_axis)axis);
}

static void make_types(ms_h5 *h5) {
    if (!h5->failed) {
        h5->kind_type = new_enum(h5, "operation_kind", MS_OP_KIND_COUNT, kind_word);
    }
    if (!h5->failed) {
        h5->axis_type = new_enum(h5, "mesh_axis", MS_AXIS_COUNT, axis_word);
    }
    if (!h5->failed) {
        h5->text_type = H5Tcopy(H5T_C_S1);
        ms_h5_check(h5, h5->text_type);
        ms_h5_check(h5, H5Tset_size(h5->text_type, H5T_VARIABLE));
        ms_h5_check(h5, H5Tset_cset(h5->text_type, H5T_CSET_UTF8));
    }
    if (!h5->failed) {
        h5->scalar_space = H5Screate(H5S_SCALAR);
        ms_h5_check(h5, h5->scalar_space);
    }
}

static void keep_order(ms_h5 *h5, hid_t plist) {
    unsigned tracked = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
    /* attributes stay beside each other: an index for nine of a group takes HDF5 twice the time */
    ms_h5_check(h5, H5Pset_attr_phase_change(plist, ATTRIBUTES_MOST, 0));
    /* room for what most groups get, so that their headers need not grow piece by piece */
    ms_h5_check(h5, H5Pset_est_link_info(plist, LINKS_LIKELY, NAME_LIKELY_B));
    ms_h5_check(h5, H5Pset_link_creation_order(plist, tracked));
    ms_h5_check(h5, H5Pset_attr_creation_order(plist, tracked));
    ms_h5_check(h5, H5Pset_obj_track_times(plist, false));
}

static void make_plists(ms_h5 *h5) {
    h5->group_plist = H5Pcreate(H5P_GROUP_CREATE);
    h5->dataset_plist = H5Pcreate(H5P_DATASET_CREATE);
    if (ms_h5_check(h5, h5->group_plist) && ms_h5_check(h5, h5->dataset_plist)) {
        keep_order(h5, h5->group_plist);
        ms_h5_check(h5, H5Pset_obj_track_times(h5->dataset_plist, false));
    }
}

static bool make_buffers(ms_h5 *h5, ms_arena *scratch) {
    size_t most_B = MS_H5_CHUNK_CELLS * sizeof(double);
    h5->cells = ms_arena_alloc(scratch, MS_H5_CHUNK_CELLS, sizeof(double));
    h5->planes = ms_arena_alloc(scratch, most_B, 1);
    h5->packed = ms_arena_alloc(scratch, ms_packed_max_B(most_B), 1);
    return h5->cells != NULL && h5->planes != NULL && h5->packed != NULL &&
           ms_packer_make(scratch, &h5->packer) == MS_OK;
}

void ms_h5_create(ms_h5 *h5, const char *path, ms_arena *scratch) {
    *h5 = (ms_h5){.file = -1,
                  .group_plist = -1,
                  .dataset_plist = -1,
                  .kind_type = -1,
                  .axis_type = -1,
                  .text_type = -1,
                  .scalar_space = -1};
    ms_h5_quiet();
    if (!make_buffers(h5, scratch)) {
        ms_h5_fail(h5, "out of memory");
        return;
    }
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    if (ms_h5_check(h5, access) && ms_h5_check(h5, creation)) {
        /* the newest layout: attributes above 64 KiB, checksums over all metadata */
        ms_h5_check(h5, H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST));
        /* the target holds the lock already, and some file systems have none */
        ms_h5_check(h5, H5Pset_file_locking(access, false, true));
        keep_order(h5, creation);
    }
    if (!h5->failed) {
        h5->file = H5Fcreate(path, H5F_ACC_TRUNC, creation, access);
        ms_h5_check(h5, h5->file);
    }
    (void)H5Pclose(access);
    (void)H5Pclose(creation);
    if (!h5->failed) {
        make_plists(h5);
        make_types(h5);
    }
}

bool ms_h5_close(ms_h5 *h5) {
    if (h5->scalar_space >= 0) {
        ms_h5_check(h5, H5Sclose(h5->scalar_space));
    }
    if (h5->text_type >= 0) {
        ms_h5_check(h5, H5Tclose(h5->text_type));
    }
    if (h5->axis_type >= 0) {
        ms_h5_check(h5, H5Tclose(h5->axis_type));
    }
    if (h5->kind_type >= 0) {
        ms_h5_check(h5, H5Tclose(h5->kind_type));
    }
    if (h5->dataset_plist >= 0) {
        ms_h5_check(h5, H5Pclose(h5->dataset_plist));
    }
    if (h5->group_plist >= 0) {
        ms_h5_check(h5, H5Pclose(h5->group_plist));
    }
    if (h5->file >= 0) {
        /* a full disk shows here at the latest: H5Dwrite only fills the chunk cache */
        ms_h5_check(h5, H5Fflush(h5->file, H5F_SCOPE_GLOBAL));
        ms_h5_check(h5, H5Fclose(h5->file));
    }
    return !h5->failed;
}

hid_t ms_h5_group(ms_h5 *h5, hid_t parent, const char *name) {
    if (h5->failed) {
        return -1;
    }
    hid_t group = H5Gcreate2(parent, name, H5P_DEFAULT, h5->group_plist, H5P_DEFAULT);
    ms_h5_check(h5, group);
    return group;
}

void ms_h5_close_group(ms_h5 *h5, hid_t group) {
    if (group >= 0) {
        ms_h5_check(h5, H5Gclose(group));
    }
}

void ms_h5_attribute(ms_h5 *h5, hid_t object, const char *name, ms_h5_cells cells) {
    if (h5->failed) {
        return;
    }
    hsize_t size = (hsize_t)cells.count;
    bool is_scalar = cells.count < 0;
    hid_t space = is_scalar ? h5->scalar_space : H5Screate_simple(1, &size, NULL);
    if (!ms_h5_check(h5, space)) {
        return;
    }
    hid_t attribute = H5Acreate2(object, name, cells.type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (ms_h5_check(h5, attribute)) {
        if (cells.count != 0) {
            ms_h5_check(h5, H5Awrite(attribute, cells.type, cells.data));
        }
        ms_h5_check(h5, H5Aclose(attribute));
    }
    if (!is_scalar) {
        ms_h5_check(h5, H5Sclose(space));
    }
}

void ms_h5_text(ms_h5 *h5, hid_t object, const char *name, const char *text) {
    ms_h5_attribute(h5, object, name, (ms_h5_cells){h5->text_type, -1, &text});
}

void ms_h5_integer(ms_h5 *h5, hid_t object, const char *name, int64_t integer) {
    ms_h5_attribute(h5, object, name, (ms_h5_cells){H5T_NATIVE_INT64, -1, &integer});
}

void ms_h5_document(ms_h5 *h5, hid_t group, const char *name, const char *text) {
    if (h5->failed) {
        return;
    }
    /* one text is converted at a time: HDF5 would clear two buffers of 1 MiB for it */
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    if (ms_h5_check(h5, transfer)) {
        ms_h5_check(h5, H5Pset_buffer(transfer, CONVERSION_B, NULL, NULL));
    }
    hid_t data = H5Dcreate2(group, name, h5->text_type, h5->scalar_space, H5P_DEFAULT,
                            h5->dataset_plist, H5P_DEFAULT);
    if (ms_h5_check(h5, data)) {
        char hash[MS_SHA256_HEX];
        ms_sha256_hex(text, strlen(text), hash);
        ms_h5_check(h5, H5Dwrite(data, h5->text_type, H5S_ALL, H5S_ALL, transfer, &text));
        ms_h5_text(h5, data, "sha256", hash);
        ms_h5_check(h5, H5Dclose(data));
    }
    if (transfer >= 0) {
        ms_h5_check(h5, H5Pclose(transfer));
    }
}
