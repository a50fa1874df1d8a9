/**
 * @file
 * Kinds of input files (workload, platform, trace, ...), recognised by their keys or first bytes.
 * If a user gives a file of another kind than a command expects, the message names the file's kind
 * and the command that takes it.
 */
#ifndef MESHSIM_INPUT_H
#define MESHSIM_INPUT_H

#include <stddef.h>

#include "base/config/config.h"

/** The kind of an input file. */
typedef enum ms_input_kind {
    MS_INPUT_UNKNOWN,
    MS_INPUT_WORKLOAD,
    MS_INPUT_PLATFORM,
    MS_INPUT_GPU,      /**< a GPU type */
    MS_INPUT_TRACE,    /**< HDF5 */
    MS_INPUT_RESULT,   /**< output of --json */
    MS_INPUT_MEASURED, /**< measured runs, or collectives */
    MS_INPUT_SWEEP,    /**< a workload, and lists of values for some of its keys */
    MS_INPUT_SPACE,    /**< the space of a search: keys that vary, and their values */
} ms_input_kind;

/** Refuse a document that has keys of another kind and too few of the wanted one.
 *  path: its file, for the message.  Returns MS_OK, also where the kind is unknown; MS_E_INPUT,
 * reported. */
ms_status ms_input_expect(const ms_node *root, ms_input_kind wanted, const char *path,
                          ms_diag *diag);

/** The kind of a file, by its first bytes, otherwise by its keys; MS_INPUT_UNKNOWN for a pipe or
 * device, which is not read, and for a file that cannot be read.  O(file). */
ms_input_kind ms_input_kind_of(const char *path);

/** Whether a text begins with the signature of HDF5 files. */
bool ms_input_is_hdf5(const char *text, size_t length_B);

/** The noun for a kind of files and the command that takes such a file, for example "a platform;
 * 'meshsim platform p.yaml' shows it".  wanted: the kind that was expected, which decides the
 * command.  path: the file.  text_out: [size] bytes, always NUL-terminated.  Returns text_out. */
char *ms_input_explain(ms_input_kind kind, ms_input_kind wanted, const char *path, char *text_out,
                       size_t size);

#endif
