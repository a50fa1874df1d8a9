/* Writes HDF5 (h5_write.h); no other file does. Tables have the form of netCDF-4, so that its
 * readers find the dimension that the columns of a table share. */
#include "trace/h5_write.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/checksum.h"
#include "base/event.h"

/* Columns of up to COMPACT_ROWS rows are stored in their headers, which have checksums; those of
 * more than PACKED_ROWS rows are deflated in chunks, all others are stored as they are. Measured on
 * the 388,196 rows of megatron-1t-3072: all columns deflated take 86 ms of CPU time and 1.9 MB,
 * cells of up to 4 bytes alone 27 ms and 12.6 MB, none 11 ms and 22.5 MB. */
enum { COMPACT_ROWS = 512, PACKED_ROWS = 1 << 19, CHUNK_ROWS = 1 << 16, DEFLATE_LEVEL = 1 };

/* Records that write_rows takes at once: a whole chunk, so that HDF5 packs each chunk once, and 64
 * KiB of the narrowest column, which HDF5 writes without reading what is there. */
enum { BLOCK_ROWS = CHUNK_ROWS };

void ms_h5_fail(ms_h5 *h5, const char *cause) {
    if (!h5->failed) {
        h5->failed = true;
        snprintf(h5->cause, sizeof h5->cause, "%s", cause);
    }
}

/* Set a failure if a call of HDF5 failed, which then returned a negative number.  Returns `result`.
 */
static hid_t check(ms_h5 *h5, hid_t result) {
    if (result < 0 && !h5->failed) {
        h5->failed = true;
        (void)ms_h5_failure(h5->cause, sizeof h5->cause);
    }
    return result;
}

/* ---- types ---- */

/* The words of the enumerations, for new_enum. */
static const char *kind_word(int kind) {
    return ms_op_kind_name((ms_op_kind)kind);
}

static const char *axis_word(int axis) {
    return ms_axis_name((ms_axis)axis);
}

/* Make an enumeration with the values 0 .. count - 1, and give it a name in the file, as netCDF-4
 * requires.
 *  word: the name of a value. */
static hid_t new_enum(ms_h5 *h5, const char *name, int count, const char *(*word)(int)) {
    hid_t type = check(h5, H5Tenum_create(H5T_STD_I8LE));
    for (int i = 0; i < count; i++) {
        const int8_t value = (int8_t)i;
        check(h5, H5Tenum_insert(type, word(i), &value));
    }
    hid_t plist = check(h5, H5Pcreate(H5P_DATATYPE_CREATE));
    check(h5, H5Pset_obj_track_times(plist, false));
    check(h5, H5Tcommit2(h5->file, name, type, H5P_DEFAULT, plist, H5P_DEFAULT));
    check(h5, H5Pclose(plist));
    return type;
}

/* Make a type of texts.  size: their length, or H5T_VARIABLE. */
static hid_t new_text(ms_h5 *h5, size_t size, H5T_cset_t letters) {
    hid_t type = check(h5, H5Tcopy(H5T_C_S1));
    check(h5, H5Tset_size(type, size));
    check(h5, H5Tset_cset(type, letters));
    return type;
}

/* Make the types of all cells. */
static void make_types(ms_h5 *h5) {
    for (int cell = MS_H5_I16; cell < MS_H5_TEXT; cell++) {
        h5->types[cell] = check(h5, H5Tcopy(ms_h5_memory_type((ms_h5_cell)cell)));
    }
    h5->types[MS_H5_KIND] = new_enum(h5, "operation_kind", MS_OP_KIND_COUNT, kind_word);
    h5->types[MS_H5_AXIS] = new_enum(h5, "mesh_axis", MS_AXIS_COUNT, axis_word);
    h5->types[MS_H5_TEXT] = new_text(h5, MS_H5_TEXT_B, H5T_CSET_UTF8);
    check(h5, H5Tset_strpad(h5->types[MS_H5_TEXT], H5T_STR_NULLPAD));
    h5->words_type = new_text(h5, H5T_VARIABLE, H5T_CSET_UTF8);
}

/* ---- the file ---- */

/* Let groups keep the order of their links, and no times, which would differ from run to run. */
static void keep_order(ms_h5 *h5, hid_t plist) {
    check(h5, H5Pset_link_creation_order(plist, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    check(h5, H5Pset_obj_track_times(plist, false));
}

void ms_h5_create(ms_h5 *h5, const char *path, ms_arena *scratch) {
    *h5 = (ms_h5){.scratch = scratch};
    hid_t access = check(h5, H5Pcreate(H5P_FILE_ACCESS));
    hid_t creation = check(h5, H5Pcreate(H5P_FILE_CREATE));
    /* this version has checksums over all metadata */
    check(h5, H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110));
    /* the file is locked already, and some file systems have no locks */
    check(h5, H5Pset_file_locking(access, false, true));
    keep_order(h5, creation);
    h5->file = h5->failed ? -1 : check(h5, H5Fcreate(path, H5F_ACC_TRUNC, creation, access));
    (void)H5Pclose(access);
    (void)H5Pclose(creation);
    if (!h5->failed) {
        h5->object_plist = check(h5, H5Pcreate(H5P_GROUP_CREATE));
        keep_order(h5, h5->object_plist);
        make_types(h5);
    }
}

bool ms_h5_close(ms_h5 *h5) {
    if (!h5->failed) {
        for (int cell = 0; cell < MS_H5_CELLS; cell++) {
            check(h5, H5Tclose(h5->types[cell]));
        }
        check(h5, H5Tclose(h5->words_type));
        check(h5, H5Pclose(h5->object_plist));
        check(h5, H5Fclose(h5->file));
    }
    return !h5->failed;
}

hid_t ms_h5_group(ms_h5 *h5, hid_t parent, const char *name) {
    return h5->failed
               ? -1
               : check(h5, H5Gcreate2(parent, name, H5P_DEFAULT, h5->object_plist, H5P_DEFAULT));
}

/* ---- attributes and texts ---- */

/* Make a dataspace of a list, or of one cell (count < 0). */
static hid_t new_space(ms_h5 *h5, int64_t count) {
    const hsize_t size = (hsize_t)count;
    return check(h5, count < 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &size, NULL));
}

void ms_h5_attribute(ms_h5 *h5, hid_t object, const char *name, ms_h5_cells cells) {
    if (h5->failed) {
        return;
    }
    hid_t space = new_space(h5, cells.count);
    hid_t attribute =
        check(h5, H5Acreate2(object, name, cells.type, space, H5P_DEFAULT, H5P_DEFAULT));
    check(h5, H5Awrite(attribute, cells.type, cells.data));
    check(h5, H5Aclose(attribute));
    check(h5, H5Sclose(space));
}

void ms_h5_text(ms_h5 *h5, hid_t object, const char *name, const char *text) {
    ms_h5_attribute(h5, object, name, (ms_h5_cells){h5->words_type, -1, &text});
}

void ms_h5_integer(ms_h5 *h5, hid_t object, const char *name, int64_t integer) {
    ms_h5_attribute(h5, object, name, (ms_h5_cells){H5T_NATIVE_INT64, -1, &integer});
}

/* The cells of a dataset. */
typedef struct dataset_form {
    hid_t type;
    int64_t count;   /* as for new_space */
    bool has_values; /* false: none are stored */
} dataset_form;

/* Make a dataset, and leave it open. It has no time of creation. */
static hid_t new_dataset(ms_h5 *h5, hid_t parent, const char *name, dataset_form form) {
    hid_t space = new_space(h5, form.count);
    hid_t plist = check(h5, H5Pcreate(H5P_DATASET_CREATE));
    check(h5, H5Pset_obj_track_times(plist, false));
    if (form.count > PACKED_ROWS && form.has_values) {
        const hsize_t chunk = CHUNK_ROWS;
        check(h5, H5Pset_chunk(plist, 1, &chunk));
        /* mandatory: where memory runs out, an optional filter would store the chunk unfiltered */
        const unsigned level = DEFLATE_LEVEL;
        check(h5, H5Pset_filter(plist, H5Z_FILTER_SHUFFLE, H5Z_FLAG_MANDATORY, 0, NULL));
        check(h5, H5Pset_filter(plist, H5Z_FILTER_DEFLATE, H5Z_FLAG_MANDATORY, 1, &level));
    } else if (form.count <= COMPACT_ROWS && form.has_values) {
        check(h5, H5Pset_layout(plist, H5D_COMPACT));
    }
    hid_t data =
        check(h5, H5Dcreate2(parent, name, form.type, space, H5P_DEFAULT, plist, H5P_DEFAULT));
    check(h5, H5Pclose(plist));
    check(h5, H5Sclose(space));
    return data;
}

void ms_h5_document(ms_h5 *h5, hid_t parent, const char *name, const char *text) {
    if (h5->failed) {
        return;
    }
    char hash[MS_SHA256_HEX];
    hid_t data = new_dataset(h5, parent, name, (dataset_form){h5->words_type, -1, true});
    check(h5, H5Dwrite(data, h5->words_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text));
    ms_sha256_hex(text, strlen(text), hash);
    ms_h5_text(h5, data, "sha256", hash);
    check(h5, H5Dclose(data));
}

/* ---- tables ---- */

/* Write the attributes flag_values and flag_meanings of a column, as the CF conventions describe
 * enumerations. */
static void describe_enum(ms_h5 *h5, hid_t data, int count, const char *(*word)(int)) {
    int8_t values[MS_OP_KIND_COUNT + MS_AXIS_COUNT];
    ms_buffer meanings = {0};
    for (int i = 0; i < count; i++) {
        values[i] = (int8_t)i;
        ms_buffer_printf(&meanings, "%s%s", i == 0 ? "" : " ", word(i));
    }
    if (meanings.failed) {
        ms_h5_fail(h5, "out of memory");
    }
    ms_h5_attribute(h5, data, "flag_values", (ms_h5_cells){H5T_NATIVE_INT8, count, values});
    ms_h5_text(h5, data, "flag_meanings", ms_buffer_text(&meanings));
    ms_buffer_release(&meanings);
}

/* Copy the cells of a column from records.  size: of a cell, a constant in each call, so that each
 * copy is one instruction. */
static inline void copy_cells(size_t size, const char *from, size_t record_B, size_t rows,
                              char *cells_out) {
    for (size_t i = 0; i < rows; i++) {
        memcpy(cells_out + i * size, from + i * record_B, size);
    }
}

/* Copy the cells of a column into an array.  from: the cell in the first record. */
static void gather_cells(ms_h5_cell cell, const char *from, size_t record_B, size_t rows,
                         char *cells_out) {
    switch (ms_h5_cell_B(cell)) {
    case 1:
        copy_cells(1, from, record_B, rows, cells_out);
        return;
    case 2:
        copy_cells(2, from, record_B, rows, cells_out);
        return;
    case 4:
        copy_cells(4, from, record_B, rows, cells_out);
        return;
    case 8:
        copy_cells(8, from, record_B, rows, cells_out);
        return;
    default:
        break;
    }
    for (size_t i = 0; i < rows; i++) { /* MS_H5_TEXT */
        const char *text = *(const char *const *)(const void *)(from + i * record_B);
        strncpy(cells_out + i * MS_H5_TEXT_B, text == NULL ? "" : text, MS_H5_TEXT_B);
    }
}

/* A table whose columns are being written. */
typedef struct open_table {
    const ms_trace_table *form;
    hid_t group;
    size_t rows;
    hid_t *columns;       /* [form->column_count] datasets */
    char *cells;          /* room for the cells of a block of one column */
    hobj_ref_t dimension; /* reference to the table's dimension */
} open_table;

/* Make the dataset of a column, with its attributes, and leave it open. DIMENSION_LIST refers to
 * the table's dimension. */
static hid_t new_column(ms_h5 *h5, const open_table *table, const ms_column *column) {
    hid_t data = new_dataset(h5, table->group, column->name,
                             (dataset_form){h5->types[column->cell], (int64_t)table->rows, true});
    ms_h5_text(h5, data, "units", column->units);
    ms_h5_text(h5, data, "long_name", column->long_name);
    if (column->cell == MS_H5_KIND) {
        describe_enum(h5, data, MS_OP_KIND_COUNT, kind_word);
    } else if (column->cell == MS_H5_AXIS) {
        describe_enum(h5, data, MS_AXIS_COUNT, axis_word);
    }
    hobj_ref_t dimension = table->dimension;
    const hvl_t scales = {.len = 1, .p = &dimension};
    hid_t type = check(h5, H5Tvlen_create(H5T_STD_REF_OBJ));
    ms_h5_attribute(h5, data, "DIMENSION_LIST", (ms_h5_cells){type, 1, &scales});
    check(h5, H5Tclose(type));
    return data;
}

/* Write a block of the columns of a table.  records: [count], from row `first` on. */
static void write_block(ms_h5 *h5, const open_table *table, const char *records, hsize_t first,
                        hsize_t count) {
    const ms_trace_table *form = table->form;
    hid_t all = new_space(h5, (int64_t)table->rows);
    hid_t block = new_space(h5, (int64_t)count);
    check(h5, H5Sselect_hyperslab(all, H5S_SELECT_SET, &first, NULL, &count, NULL));
    for (size_t c = 0; c < form->column_count && !h5->failed; c++) {
        const ms_column *column = &form->columns[c];
        gather_cells(column->cell, records + column->offset, form->record_B, count, table->cells);
        check(h5, H5Dwrite(table->columns[c], h5->types[column->cell], block, all, H5P_DEFAULT,
                           table->cells));
    }
    check(h5, H5Sclose(block));
    check(h5, H5Sclose(all));
}

/* Make the records of a table and write them, block by block: no more than BLOCK_ROWS records and
 * the cells of one column are in memory. */
static void write_rows(ms_h5 *h5, open_table *table, ms_record_maker *make, void *context) {
    size_t record_B = table->form->record_B;
    size_t most = table->rows < BLOCK_ROWS ? table->rows : BLOCK_ROWS;
    char *records = ms_arena_alloc(h5->scratch, most, record_B);
    table->cells = ms_arena_alloc(h5->scratch, most, MS_H5_TEXT_B);
    if (records == NULL || table->cells == NULL) {
        ms_h5_fail(h5, "out of memory");
    }
    for (size_t first = 0; first < table->rows && !h5->failed; first += BLOCK_ROWS) {
        size_t left = table->rows - first;
        size_t count = left < BLOCK_ROWS ? left : BLOCK_ROWS;
        for (size_t i = 0; i < count; i++) {
            make(context, first + i, records + i * record_B);
        }
        write_block(h5, table, records, first, count);
    }
}

/* Write an attribute with a text of fixed length in ASCII, as HDF5's dimension scales have them. */
static void write_name(ms_h5 *h5, hid_t dimension, const char *name, const char *text) {
    hid_t type = new_text(h5, strlen(text) + 1, H5T_CSET_ASCII);
    ms_h5_attribute(h5, dimension, name, (ms_h5_cells){type, -1, text});
    check(h5, H5Tclose(type));
}

/* Make the dimension of a table: a dimension scale without values, whose name says that there is no
 * variable. Source: netCDF-4 file format, "dimensions without variables". */
static hid_t new_dimension(ms_h5 *h5, hid_t group, const char *dimension, size_t rows) {
    char name[80];
    snprintf(name, sizeof name, "This is a netCDF dimension but not a netCDF variable.%10zu", rows);
    hid_t data =
        new_dataset(h5, group, dimension, (dataset_form){H5T_IEEE_F32BE, (int64_t)rows, false});
    write_name(h5, data, "CLASS", "DIMENSION_SCALE");
    write_name(h5, data, "NAME", name);
    return data;
}

/* Write the attribute REFERENCE_LIST of a dimension: references to the columns that use it. */
static void list_users(ms_h5 *h5, hid_t group, hid_t dimension, const ms_trace_table *table) {
    typedef struct scale_user {
        hobj_ref_t column;
        int32_t dimension;
    } scale_user;
    size_t count = table->column_count;
    scale_user *users = MS_NEW(h5->scratch, scale_user, count);
    for (size_t i = 0; users != NULL && i < count; i++) {
        check(h5, H5Rcreate(&users[i].column, group, table->columns[i].name, H5R_OBJECT, -1));
    }
    hid_t type = check(h5, H5Tcreate(H5T_COMPOUND, sizeof(scale_user)));
    check(h5, H5Tinsert(type, "dataset", offsetof(scale_user, column), H5T_STD_REF_OBJ));
    check(h5, H5Tinsert(type, "dimension", offsetof(scale_user, dimension), H5T_NATIVE_INT32));
    if (users == NULL) {
        ms_h5_fail(h5, "out of memory");
    }
    ms_h5_attribute(h5, dimension, "REFERENCE_LIST", (ms_h5_cells){type, (int64_t)count, users});
    check(h5, H5Tclose(type));
}

/* A table is a group with a dataset for each column, which all have one dimension, as in
 * netCDF-4. */
void ms_h5_write_made(ms_h5 *h5, const ms_trace_table *table, ms_record_maker *make, void *context,
                      size_t rows) {
    open_table open = {.form = table,
                       .group = ms_h5_group(h5, h5->file, table->group),
                       .rows = rows,
                       .columns = MS_NEW(h5->scratch, hid_t, table->column_count)};
    if (open.columns == NULL) {
        ms_h5_fail(h5, "out of memory");
    }
    if (h5->failed) {
        return;
    }
    hid_t dimension = new_dimension(h5, open.group, table->dimension, rows);
    ms_h5_text(h5, open.group, "long_name", table->long_name);
    check(h5, H5Rcreate(&open.dimension, open.group, table->dimension, H5R_OBJECT, -1));
    for (size_t i = 0; i < table->column_count && !h5->failed; i++) {
        open.columns[i] = new_column(h5, &open, &table->columns[i]);
    }
    write_rows(h5, &open, make, context);
    for (size_t i = 0; i < table->column_count && !h5->failed; i++) {
        check(h5, H5Dclose(open.columns[i]));
    }
    list_users(h5, open.group, dimension, table);
    check(h5, H5Dclose(dimension));
    check(h5, H5Gclose(open.group));
}

/* The records of a table in memory, for copy_record. */
typedef struct stored_records {
    const char *records;
    size_t record_B;
} stored_records;

/* Copy a record from memory (ms_record_maker).  context: stored_records. */
static void copy_record(void *context, size_t row, void *record_out) {
    const stored_records *stored = context;
    memcpy(record_out, stored->records + row * stored->record_B, stored->record_B);
}

void ms_h5_write_table(ms_h5 *h5, const ms_trace_table *table, const void *records, size_t rows) {
    stored_records stored = {records, table->record_B};
    if (records == NULL && rows != 0) {
        ms_h5_fail(h5, "out of memory");
    }
    ms_h5_write_made(h5, table, copy_record, &stored, rows);
}
