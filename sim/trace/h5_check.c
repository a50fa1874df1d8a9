/* Checks an untrusted file before HDF5 reads its data (ms_h5_check_file): visits every object and
 * refuses what a trace never has. Without this, a file could make HDF5 open other files, load code,
 * recurse without end or allocate without limit. */
#include "trace/h5_read.h"

#include <stdio.h>
#include <string.h>

enum {
    PATH_B = 160,         /* size of an object's path in a message */
    DEPTH_MAX = 18,       /* maximum depth of groups: two more than in a summary of version 1 */
    OBJECTS_MAX = 100000, /* maximum number of objects: a summary of version 1 has a group per
                             stage, what-if and kernel, a few thousand */
    DEFLATE_MOST = 1032,  /* maximum factor by which deflate compresses. Source: zlib.net, "Maximum
                             Compression Factor" */
    CHUNK_MOST_B = 16 << 20 /* maximum size of a chunk, which HDF5 holds whole in memory; those of
                               meshsim have up to 512 KiB */
};

/* The state of visiting a file. */
typedef struct file_walk {
    char path[PATH_B]; /* of the object that is visited; "" for the root */
    ms_h5_fault *fault;
    int depth;   /* of the group that is visited */
    int objects; /* visited so far */
} file_walk;

/* Refuse the object that is visited.  what: its fault.  Returns -1. */
static herr_t refuse(file_walk *walk, const char *what) {
    return ms_h5_set_fault(walk->fault, MS_E_INPUT, "the trace is damaged at %s: %s", walk->path,
                           what);
}

/* Set a fault for a failed call of HDF5 on the object that is visited.  Returns -1. */
static herr_t fail(file_walk *walk) {
    return ms_h5_fault_of_call(walk->fault, walk->path[0] == '\0' ? "/" : walk->path);
}

/* ---- datasets ---- */

/* The fault of a dataset's filters; NULL: none.  storage: its creation properties. */
static const char *fault_of_filters(hid_t storage) {
    for (int i = 0; i < H5Pget_nfilters(storage); i++) {
        unsigned flags = 0, config = 0;
        size_t values = 0;
        H5Z_filter_t filter =
            H5Pget_filter2(storage, (unsigned)i, &flags, &values, NULL, 0, NULL, &config);
        if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE &&
            filter != H5Z_FILTER_FLETCHER32) {
            return "it has a filter other than deflate, shuffle and fletcher32";
        }
    }
    return NULL;
}

/* Whether a chunk of a dataset has more than CHUNK_MOST_B bytes. */
static bool has_large_chunks(hid_t storage, size_t cell_B) {
    hsize_t dims[H5S_MAX_RANK];
    double bytes = (double)cell_B;
    int rank = H5Pget_chunk(storage, H5S_MAX_RANK, dims);
    for (int i = 0; i < rank; i++) {
        bytes *= (double)dims[i];
    }
    return bytes > CHUNK_MOST_B;
}

/* Check how the data of a dataset are stored: in this file, and in chunks that fit into memory. */
static herr_t check_storage(file_walk *walk, hid_t storage, size_t cell_B) {
    const char *fault = fault_of_filters(storage);
    H5D_layout_t layout = H5Pget_layout(storage);
    if (H5Pget_external_count(storage) > 0) {
        return refuse(walk, "its data are in another file (external storage)");
    }
    if (layout == H5D_VIRTUAL) {
        return refuse(walk, "its data are those of other datasets (a virtual dataset)");
    }
    if (layout == H5D_CHUNKED && has_large_chunks(storage, cell_B)) {
        return refuse(walk, "its chunks are larger than 16 MiB");
    }
    return fault == NULL ? 0 : refuse(walk, fault);
}

/* Check a dataset. */
static herr_t check_dataset(file_walk *walk, hid_t data) {
    hid_t storage = H5Dget_create_plist(data);
    hid_t type = storage < 0 ? -1 : H5Dget_type(data);
    herr_t result =
        storage < 0 || type < 0 ? fail(walk) : check_storage(walk, storage, H5Tget_size(type));
    (void)H5Tclose(type);
    (void)H5Pclose(storage);
    return result;
}

bool ms_h5_has_cells(hid_t data, int64_t rows, int64_t *stored_B_out) {
    hid_t type = H5Dget_type(data);
    double cells_B = (double)rows * (double)(type < 0 ? 0 : H5Tget_size(type));
    (void)H5Tclose(type);
    *stored_B_out = (int64_t)H5Dget_storage_size(
        data); /* last, so that the caller can find its failure, which returns 0 */
    return cells_B <= DEFLATE_MOST * (double)*stored_B_out;
}

/* ---- links ---- */

static herr_t visit(hid_t group, const char *name, const H5L_info_t *info, void *context);

/* Check all objects of a group. The limit of the depth also ends circles of hard links. */
static herr_t check_group(file_walk *walk, hid_t group) {
    herr_t result = 0;
    if (walk->depth >= DEPTH_MAX) {
        return refuse(walk, "groups are nested too deep, or in a circle");
    }
    walk->depth++;
    result = H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, visit, walk);
    walk->depth--;
    return result < 0 ? fail(walk) : 0;
}

/* Check an object by its kind.  object: < 0 if it could not be opened. */
static herr_t check_object(file_walk *walk, hid_t object) {
    switch (object < 0 ? H5I_BADID : H5Iget_type(object)) {
    case H5I_BADID:
        return fail(walk);
    case H5I_GROUP:
        return check_group(walk, object);
    case H5I_DATASET:
        return check_dataset(walk, object);
    case H5I_DATATYPE: /* the enums of the columns have names */
        return 0;
    default:
        return refuse(walk, "it is no group, dataset or type");
    }
}

/* The fault of a link that is not a hard link. */
static const char *fault_of_link(H5L_type_t type) {
    return type == H5L_TYPE_SOFT       ? "it is a soft link"
           : type == H5L_TYPE_EXTERNAL ? "it is an external link, to another file"
                                       : "it is a user-defined link";
}

/* Check a link of a group and the object behind it, for H5Literate.  context: file_walk. */
static herr_t visit(hid_t group, const char *name, const H5L_info_t *info, void *context) {
    file_walk *walk = context;
    size_t length = strlen(walk->path);
    snprintf(walk->path + length, sizeof walk->path - length, "/%s", name);
    herr_t result = 0;
    if (info->type != H5L_TYPE_HARD) {
        result = refuse(walk, fault_of_link(info->type));
    } else if (++walk->objects > OBJECTS_MAX) {
        result = refuse(walk, "there are more objects than a trace has");
    } else {
        hid_t object = H5Oopen(group, name, H5P_DEFAULT);
        result = check_object(walk, object);
        if (object >= 0) {
            (void)H5Oclose(object);
        }
    }
    walk->path[length] = '\0';
    return result;
}

void ms_h5_check_file(hid_t file, ms_h5_fault *fault) {
    file_walk walk = {.fault = fault};
    hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
    (void)check_object(&walk, root);
    if (root >= 0) {
        (void)H5Gclose(root);
    }
}
