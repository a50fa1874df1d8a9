/**
 * @file
 * Kinds of input files, told apart by their keys or first bytes, so that a file in the place of
 * another is named for what it is, with the command that takes it.
 */
#ifndef MESHSIM_INPUT_H
#define MESHSIM_INPUT_H

#include <stddef.h>

#include "base/config/config.h"

/** The kind of an input file, which its keys tell. */
typedef enum ms_input_kind {
    MS_INPUT_UNKNOWN,
    MS_INPUT_WORKLOAD,
    MS_INPUT_PLATFORM,
    MS_INPUT_GPU,      /**< a GPU type */
    MS_INPUT_TRACE,    /**< HDF5 */
    MS_INPUT_RESULT,   /**< what --json printed */
    MS_INPUT_MEASURED, /**< measured runs, or collectives */
    MS_INPUT_SWEEP,    /**< a workload whose keys take several values */
    MS_INPUT_SPACE,    /**< what varies in a search */
} ms_input_kind;

/** Refuse a document that has keys of another kind and none of its own.
 *  path: its file.  Returns MS_OK; MS_E_INPUT, reported. */
ms_status ms_input_expect(const ms_node *root, ms_input_kind wanted, const char *path,
                          ms_diag *diag);

/** Kind of a file by its first bytes, else by its keys. A pipe or device is not read, and unknown,
 * as is a file that cannot be read.  O(file). */
ms_input_kind ms_input_kind_of(const char *path);

/** Whether a text starts as HDF5 files do. */
bool ms_input_is_hdf5(const char *text, size_t length_B);

/** What a file of some kind is and which command takes it, such as "a platform; 'meshsim platform
 * p.yaml' shows it".  wanted: what it was taken for.  text_out: [size] bytes, always
 * NUL-terminated. Returns text_out. */
char *ms_input_explain(ms_input_kind kind, ms_input_kind wanted, const char *path, char *text_out,
                       size_t size);

#endif
