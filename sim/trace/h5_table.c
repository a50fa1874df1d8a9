/* Tables: a group, its dimension and its columns. */
#include <stdio.h>
#include <string.h>

#include "meshsim/buffer.h"
#include "meshsim/event.h"
#include "trace/h5.h"

enum { DEFLATE_LEVEL = 1, SMALL_CELLS = 512, BLOCK_CELLS = 2048 };

size_t ms_h5_cell_B(ms_h5_cell cell) {
    static const size_t SIZES[] = {[MS_H5_KIND] = 1,
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

/* A copy of the type a column has in the file. */
static hid_t file_type(ms_h5 *h5, ms_h5_cell cell) {
    switch (cell) {
    case MS_H5_KIND:
        return H5Tcopy(h5->kind_type);
    case MS_H5_AXIS:
        return H5Tcopy(h5->axis_type);
    case MS_H5_TEXT: {
        hid_t type = H5Tcopy(H5T_C_S1);
        ms_h5_check(h5, H5Tset_size(type, MS_H5_TEXT_B));
        ms_h5_check(h5, H5Tset_strpad(type, H5T_STR_NULLPAD));
        ms_h5_check(h5, H5Tset_cset(type, H5T_CSET_UTF8));
        return type;
    }
    default:
        return H5Tcopy(ms_h5_memory_type(cell));
    }
}

/* flag_values and flag_meanings, as the CF conventions describe enumerations. */
static void describe_enum(ms_h5 *h5, hid_t data, ms_h5_cell cell) {
    int8_t values[MS_OP_KIND_COUNT + MS_AXIS_COUNT];
    ms_buffer meanings;
    ms_buffer_init(&meanings);
    int count = cell == MS_H5_KIND ? (int)MS_OP_KIND_COUNT : (int)MS_AXIS_COUNT;
    for (int i = 0; i < count; i++) {
        values[i] = (int8_t)i;
        ms_buffer_printf(&meanings, "%s%s", i == 0 ? "" : " ",
                         cell == MS_H5_KIND ? ms_op_kind_name((ms_op_kind)i)
                                            : ms_axis_name((ms_axis)i));
    }
    if (meanings.failed) {
        ms_h5_fail(h5, "out of memory");
    }
    ms_h5_attribute(h5, data, "flag_values", (ms_h5_cells){H5T_NATIVE_INT8, count, values});
    ms_h5_text(h5, data, "flag_meanings", ms_buffer_text(&meanings));
    ms_buffer_release(&meanings);
}

void ms_h5_put_text(char *cell_out, const char *text) {
    size_t length = strnlen(text, MS_H5_TEXT_B);
    memset(cell_out, 0, MS_H5_TEXT_B);
    memcpy(cell_out, text, length);
}

static void gather(const ms_column *column, size_t first, size_t count, void *cells_out) {
    const char *from = (const char *)column->source + first * column->stride + column->offset;
    char *to = cells_out;
    size_t stride = column->stride;
    /* fixed sizes, so that the compiler makes plain loads and stores of the copies */
    switch (ms_h5_cell_B(column->cell)) {
    case 1:
        for (size_t i = 0; i < count; i++, from += stride) {
            to[i] = *from;
        }
        break;
    case 2:
        for (size_t i = 0; i < count; i++, from += stride) {
            memcpy(to + 2 * i, from, 2);
        }
        break;
    case 4:
        for (size_t i = 0; i < count; i++, from += stride) {
            memcpy(to + 4 * i, from, 4);
        }
        break;
    case 8:
        for (size_t i = 0; i < count; i++, from += stride) {
            memcpy(to + 8 * i, from, 8);
        }
        break;
    default: /* text: the record holds a pointer to it */
        for (size_t i = 0; i < count; i++, from += stride) {
            const char *text;
            memcpy(&text, from, sizeof text);
            ms_h5_put_text(to + i * MS_H5_TEXT_B, text == NULL ? "" : text);
        }
    }
}

/* Cells in a chunk of a column; 0: it is not in chunks. */
static size_t chunk_cells(size_t rows) {
    return rows <= SMALL_CELLS ? 0 : rows < MS_H5_CHUNK_CELLS ? rows : MS_H5_CHUNK_CELLS;
}

typedef struct column_file {
    hid_t data;
    hid_t type;
    hid_t space;
} column_file;

static void make_cells(ms_h5 *h5, const ms_column *column, size_t first, size_t count) {
    if (column->stride > 0) {
        gather(column, first, count, h5->cells);
    } else {
        column->fill(column, first, count, h5->cells);
    }
}

/* Through HDF5: what is not in chunks, and texts. */
static void write_plain(ms_h5 *h5, const ms_column *column, const column_file *file, size_t rows) {
    size_t step = (size_t)MS_H5_CHUNK_CELLS * sizeof(double) / ms_h5_cell_B(column->cell);
    for (size_t first = 0; first < rows && !h5->failed; first += step) {
        hsize_t start = first;
        hsize_t count = rows - first < step ? rows - first : step;
        make_cells(h5, column, first, (size_t)count);
        hid_t window = H5Screate_simple(1, &count, NULL);
        if (ms_h5_check(h5, window)) {
            ms_h5_check(
                h5, H5Sselect_hyperslab(file->space, H5S_SELECT_SET, &start, NULL, &count, NULL));
            ms_h5_check(
                h5, H5Dwrite(file->data, file->type, window, file->space, H5P_DEFAULT, h5->cells));
            ms_h5_check(h5, H5Sclose(window));
        }
    }
}

/* A whole chunk, as HDF5's filters read it, but in a tenth of their time (pack.h). Cells are sorted
 * by bytes a few at a time, while they are in the fastest cache. */
static void write_chunk(ms_h5 *h5, const ms_column *column, hid_t data, size_t first, size_t rows) {
    size_t chunk = chunk_cells(rows);
    size_t count = rows - first < chunk ? rows - first : chunk;
    ms_planes planes = {
        .bytes = h5->planes, .cell_B = ms_h5_cell_B(column->cell), .plane_B = chunk};
    while (planes.count < chunk) {
        size_t left = planes.count < count ? count - planes.count : chunk - planes.count;
        size_t some = left < BLOCK_CELLS ? left : BLOCK_CELLS;
        if (planes.count < count) {
            make_cells(h5, column, first + planes.count, some);
        } else {
            memset(h5->cells, 0, some * planes.cell_B);
        }
        ms_planes_add(&planes, h5->cells, some);
    }
    hsize_t start = first;
    size_t size = ms_pack(h5->packer, &planes, h5->packed);
    ms_h5_check(h5, H5Dwrite_chunk(data, H5P_DEFAULT, 0, &start, size, h5->packed));
}

/* Small columns lie contiguous; large ones in chunks that are written whole, shuffled and
 * deflated. */
static hid_t column_plist(ms_h5 *h5, const ms_column *column, size_t rows) {
    hid_t plist = H5Pcopy(h5->dataset_plist);
    hsize_t chunk = chunk_cells(rows);
    if (ms_h5_check(h5, plist) && chunk > 0) {
        ms_h5_check(h5, H5Pset_chunk(plist, 1, &chunk));
        /* mandatory: an optional filter that finds no memory leaves the chunk as it is, and the
         * same run would give other bytes */
        const unsigned level = DEFLATE_LEVEL;
        if (ms_h5_cell_B(column->cell) > 1 && column->cell != MS_H5_TEXT) {
            ms_h5_check(h5, H5Pset_filter(plist, H5Z_FILTER_SHUFFLE, H5Z_FLAG_MANDATORY, 0, NULL));
        }
        ms_h5_check(h5, H5Pset_filter(plist, H5Z_FILTER_DEFLATE, H5Z_FLAG_MANDATORY, 1, &level));
    }
    return plist;
}

/* DIMENSION_LIST of a column: for each of its dimensions the scales attached to it. */
static void attach(ms_h5 *h5, hid_t data, hobj_ref_t scale) {
    hvl_t list = {.len = 1, .p = &scale};
    hid_t type = H5Tvlen_create(H5T_STD_REF_OBJ);
    if (ms_h5_check(h5, type)) {
        ms_h5_attribute(h5, data, "DIMENSION_LIST", (ms_h5_cells){type, 1, &list});
        ms_h5_check(h5, H5Tclose(type));
    }
}

static void open_column(ms_h5 *h5, hid_t group, const ms_column *column, size_t rows,
                        column_file *file_out) {
    hsize_t size = rows;
    column_file file = {
        .data = -1, .type = file_type(h5, column->cell), .space = H5Screate_simple(1, &size, NULL)};
    hid_t plist = column_plist(h5, column, rows);
    if (ms_h5_check(h5, file.type) && ms_h5_check(h5, file.space)) {
        file.data =
            H5Dcreate2(group, column->name, file.type, file.space, H5P_DEFAULT, plist, H5P_DEFAULT);
        ms_h5_check(h5, file.data);
    }
    (void)H5Pclose(plist);
    *file_out = file;
}

static void close_column(ms_h5 *h5, const ms_column *column, const column_file *file,
                         hobj_ref_t scale) {
    if (!h5->failed) {
        ms_h5_text(h5, file->data, "units", column->units);
        ms_h5_text(h5, file->data, "long_name", column->long_name);
        if (column->cell == MS_H5_KIND || column->cell == MS_H5_AXIS) {
            describe_enum(h5, file->data, column->cell);
        }
        attach(h5, file->data, scale);
    }
    if (file->data >= 0) {
        ms_h5_check(h5, H5Dclose(file->data));
    }
    (void)H5Sclose(file->space);
    (void)H5Tclose(file->type);
}

/* Chunk by chunk through all columns, since these look at the same records. */
static void write_cells(ms_h5 *h5, const ms_h5_table *table, const column_file *files) {
    size_t chunk = chunk_cells(table->rows);
    for (size_t i = 0; i < table->column_count; i++) {
        if (chunk == 0 || table->columns[i].cell == MS_H5_TEXT) {
            write_plain(h5, &table->columns[i], &files[i], table->rows);
        }
    }
    for (size_t first = 0; chunk > 0 && first < table->rows; first += chunk) {
        for (size_t i = 0; i < table->column_count && !h5->failed; i++) {
            if (table->columns[i].cell != MS_H5_TEXT) {
                write_chunk(h5, &table->columns[i], files[i].data, first, table->rows);
            }
        }
    }
}

static void write_columns(ms_h5 *h5, hid_t group, const ms_h5_table *table, hobj_ref_t scale) {
    column_file files[MS_H5_COLUMNS_MAX];
    size_t count = 0;
    if (table->column_count > MS_H5_COLUMNS_MAX) {
        ms_h5_fail(h5, "a table has more columns than fit");
    }
    while (count < table->column_count && !h5->failed) {
        open_column(h5, group, &table->columns[count], table->rows, &files[count]);
        count++;
    }
    if (!h5->failed) {
        write_cells(h5, table, files);
    }
    for (size_t i = 0; i < count; i++) {
        close_column(h5, &table->columns[i], &files[i], scale);
    }
}

/* The dimension: a scale whose name says that it has no coordinates, so that nothing is stored.
 * Source: netCDF-4 file format, "dimensions without variables". */
static hid_t new_dimension(ms_h5 *h5, hid_t group, const ms_h5_table *table) {
    hsize_t size = table->rows;
    char name[80];
    snprintf(name, sizeof name, "This is a netCDF dimension but not a netCDF variable.%10zu",
             table->rows);
    hid_t space = H5Screate_simple(1, &size, NULL);
    hid_t data = ms_h5_check(h5, space) ? H5Dcreate2(group, table->dimension, H5T_IEEE_F32BE, space,
                                                     H5P_DEFAULT, h5->dataset_plist, H5P_DEFAULT)
                                        : -1;
    if (ms_h5_check(h5, data)) {
        hid_t type = H5Tcopy(H5T_C_S1);
        ms_h5_check(h5, H5Tset_size(type, sizeof "DIMENSION_SCALE"));
        ms_h5_attribute(h5, data, "CLASS", (ms_h5_cells){type, -1, "DIMENSION_SCALE"});
        ms_h5_check(h5, H5Tset_size(type, strlen(name) + 1));
        ms_h5_attribute(h5, data, "NAME", (ms_h5_cells){type, -1, name});
        ms_h5_check(h5, H5Tclose(type));
    }
    if (space >= 0) {
        ms_h5_check(h5, H5Sclose(space));
    }
    return data;
}

typedef struct scale_user {
    hobj_ref_t column;
    int32_t dimension;
} scale_user;

/* REFERENCE_LIST of the dimension: the columns that use it. */
static void list_users(ms_h5 *h5, hid_t group, hid_t dimension, const ms_h5_table *table) {
    ms_vector users;
    ms_vector_init(&users, sizeof(scale_user));
    for (size_t i = 0; i < table->column_count && !h5->failed; i++) {
        scale_user user;
        memset(&user, 0, sizeof user); /* padding too: it goes to the file */
        ms_h5_check(h5, H5Rcreate(&user.column, group, table->columns[i].name, H5R_OBJECT, -1));
        ms_vector_add(&users, &user, 1);
    }
    if (users.failed) {
        ms_h5_fail(h5, "out of memory");
    }
    hid_t type = h5->failed ? -1 : H5Tcreate(H5T_COMPOUND, sizeof(scale_user));
    if (ms_h5_check(h5, type)) {
        ms_h5_check(h5, H5Tinsert(type, "dataset", offsetof(scale_user, column), H5T_STD_REF_OBJ));
        ms_h5_check(h5,
                    H5Tinsert(type, "dimension", offsetof(scale_user, dimension), H5T_NATIVE_INT));
        ms_h5_attribute(h5, dimension, "REFERENCE_LIST",
                        (ms_h5_cells){type, (int64_t)users.count, users.data});
        ms_h5_check(h5, H5Tclose(type));
    }
    ms_vector_release(&users);
}

void ms_h5_write_table(ms_h5 *h5, const ms_h5_table *table) {
    hid_t group = ms_h5_group(h5, h5->file, table->group);
    if (h5->failed) {
        return;
    }
    ms_h5_text(h5, group, "long_name", table->long_name);
    hid_t dimension = new_dimension(h5, group, table);
    hobj_ref_t scale = 0;
    if (!h5->failed) {
        ms_h5_check(h5, H5Rcreate(&scale, group, table->dimension, H5R_OBJECT, -1));
    }
    if (!h5->failed) {
        write_columns(h5, group, table, scale);
    }
    if (!h5->failed) {
        list_users(h5, group, dimension, table);
    }
    if (dimension >= 0) {
        ms_h5_check(h5, H5Dclose(dimension));
    }
    ms_h5_close_group(h5, group);
}
