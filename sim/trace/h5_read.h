/* Reading the HDF5 file of a trace, which is not trusted: the check of its objects, its tables as
 * records, and parts of it as result trees. */
#ifndef MS_TRACE_H5_READ_H
#define MS_TRACE_H5_READ_H

#include "trace/h5.h"
#include "trace/trace.h"

/* ---- h5_check.c ---- */

/* Check every link and dataset of a file, and read no data. A trace holds all of its data itself,
 * under one name each. But a file could lead HDF5 to other files of the reader (external links,
 * external storage, virtual datasets), to code (filters that are plugins), and into circles (links
 * to groups above). Such a file is refused: *fault names the first such object and says what it is.
 * O(objects), of which there are at most some 100,000. */
void ms_h5_check_file(hid_t file, ms_h5_fault *fault);

/* Whether the stored bytes of a dataset can hold `rows` rows.
 *  *stored_B_out: these bytes.  O(chunks). */
bool ms_h5_has_cells(hid_t data, int64_t rows, int64_t *stored_B_out);

/* ---- columns.c ---- */

/* A file that is open. */
typedef struct ms_trace_file {
    hid_t hdf5;
    int64_t size_B;
    unsigned what;    /* MS_TRACE_EVENTS, MS_TRACE_TABLES */
    ms_arena *events; /* for the events of the file */
} ms_trace_file;

/* Limit on the bytes that all columns of a file unpack to: MS_COLUMNS_LEAST_B, and MS_COLUMNS_SHARE
 * times the size of the file. A file of a few megabytes cannot make meshsim allocate gigabytes.
 * Columns of version 1 unpack to up to 6.6 times the file (65,536 equal microbatches, measured);
 * ten times that is accepted. */
enum { MS_COLUMNS_SHARE = 64, MS_COLUMNS_LEAST_B = 64 << 20 };

/* Read the columns and check each number: all of *trace but its level, texts and trees, in `arena`,
 * and the events in the file's own one. Any fault goes to *fault.  O(cells). */
void ms_columns_read(const ms_trace_file *file, ms_arena *arena, ms_trace *trace,
                     ms_h5_fault *fault);

/* Check that a mesh has as many ranks as the rows of /ranks stand for.  object_path: of the mesh.
 */
void ms_columns_check_mesh(const ms_trace *trace, const char *object_path, double mesh_ranks,
                           ms_h5_fault *fault);

/* ---- tree.c ---- */

/* Add to `parent`, under `key`, the value of a text of JSON that is stored as /KEY. Any fault goes
 * to *fault. */
void ms_tree_add_json(ms_value *parent, const char *key, const char *text, ms_h5_fault *fault);

/* Add to `parent`, under `key`, the value of the group /KEY, as traces of format version 1 have it:
 * an object is a group, a number or text an attribute, a list of numbers or texts an array
 * attribute, any other list a group with the attribute `array_length` and the members "000", "001",
 * ...; null is an attribute without data, a boolean an enumeration of 8 bits. A list of more than
 * 8,000 numbers, which version 1 stored in another way, is refused. */
void ms_tree_add_groups(ms_value *parent, const char *key, hid_t file, ms_h5_fault *fault);

/* Read the tables /ranks, /axes, /tiers, /links and /steps as objects, with a list for each column.
 * A table of more than MS_TRACE_TABLE_ROWS_MAX rows is null.  Returns an object in `arena`; NULL
 * with a fault. */
ms_value *ms_tree_of_tables(hid_t file, ms_arena *arena, ms_h5_fault *fault);

#endif
