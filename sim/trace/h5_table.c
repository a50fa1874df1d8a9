/* Tables: a group, its dimension and its columns. */
#include <stdio.h>
#include <string.h>

#include "meshsim/event.h"
#include "trace/h5.h"

enum { DEFLATE_LEVEL = 1, SMALL_CELLS = 512, BLOCK_CELLS = 2048, FILTER_SHUFFLE = 2 };

/* Of how many chunks HDF5 cuts an index in pages: of so many that no trace has pages. */
enum { PAGE_BITS = 10, PAGE_BITS_MOST = 32 };

/* Where a chunk lies. */
typedef struct chunk_place {
    uint64_t at;
    uint64_t size;
} chunk_place;

/* A dataset that is being written. */
typedef struct column_file {
    ms_vector chunks; /* chunk_place */
    uint64_t at;
} column_file;

void ms_h5_put_text(char *cell_out, const char *text) {
    size_t length = strnlen(text, MS_H5_TEXT_B);
    memset(cell_out, 0, MS_H5_TEXT_B);
    memcpy(cell_out, text, length);
}

static void gather(const ms_column *column, size_t first, size_t count, void *cells_out) {
    if (count == 0) {
        return; /* there may be no records */
    }
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

/* ---- cells ---- */

/* Cells of a column that a chunk has at most. */
static size_t chunk_most(const ms_column *column) {
    return column->cell == MS_H5_TEXT ? MS_H5_CHUNK_CELLS * sizeof(double) / MS_H5_TEXT_B
                                      : MS_H5_CHUNK_CELLS;
}

/* Cells in a chunk of a column; 0: it is not in chunks. */
static size_t chunk_cells(const ms_column *column, size_t rows) {
    size_t most = chunk_most(column);
    return rows <= SMALL_CELLS ? 0 : rows < most ? rows : most;
}

static void make_cells(ms_h5 *h5, const ms_column *column, size_t first, size_t count) {
    if (column->stride > 0) {
        gather(column, first, count, h5->cells);
    } else {
        column->fill(column, first, count, h5->cells);
    }
}

/* A whole chunk, as HDF5's filters read it, but in a tenth of their time (pack.h). Cells are sorted
 * by bytes a few at a time, while they are in the fastest cache; of texts all are of one kind. */
static void write_chunk(ms_h5 *h5, const ms_column *column, size_t first, size_t rows,
                        ms_vector *places) {
    size_t cell_B = ms_h5_cell_B(column->cell), each = 1;
    if (column->cell == MS_H5_TEXT) {
        each = cell_B;
        cell_B = 1;
    }
    size_t chunk = chunk_cells(column, rows);
    size_t count = rows - first < chunk ? rows - first : chunk;
    ms_planes planes = {.bytes = h5->planes, .cell_B = cell_B, .plane_B = chunk * each};
    for (size_t done = 0, some = 0; done < chunk; done += some) {
        size_t left = done < count ? count - done : chunk - done;
        some = left < BLOCK_CELLS ? left : BLOCK_CELLS;
        if (done < count) {
            make_cells(h5, column, first + done, some);
        } else {
            memset(h5->cells, 0, some * each * cell_B);
        }
        ms_planes_add(&planes, h5->cells, some * each);
    }
    size_t size = ms_pack(h5->packer, &planes, h5->packed);
    const chunk_place place = {ms_h5_put(h5, h5->packed, size), size};
    if (ms_vector_add(places, &place, 1) == NULL) {
        ms_h5_fail(h5, "out of memory");
    }
}

/* Chunk by chunk through all columns, since these look at the same records. */
static void write_chunks(ms_h5 *h5, const ms_h5_table *table, column_file *files) {
    for (size_t first = 0; first < table->rows; first += MS_H5_CHUNK_CELLS) {
        for (size_t i = 0; i < table->column_count && !h5->failed; i++) {
            if (table->columns[i].cell != MS_H5_TEXT) {
                write_chunk(h5, &table->columns[i], first, table->rows, &files[i].chunks);
            }
        }
    }
    for (size_t i = 0; i < table->column_count; i++) {
        const ms_column *column = &table->columns[i];
        size_t step = chunk_most(column);
        for (size_t first = 0; column->cell == MS_H5_TEXT && first < table->rows && !h5->failed;
             first += step) {
            write_chunk(h5, column, first, table->rows, &files[i].chunks);
        }
    }
}

/* ---- columns ---- */

/* flag_values and flag_meanings, as the CF conventions describe enumerations. */
static void describe_enum(ms_h5 *h5, ms_h5_object *data, ms_h5_cell cell) {
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
    ms_h5_attribute(h5, data, "flag_values", (ms_h5_cells){MS_H5_I8, count, values});
    ms_h5_text(h5, data, "flag_meanings", ms_buffer_text(&meanings));
    ms_buffer_release(&meanings);
}

/* How HDF5 unpacks the chunks. */
static void add_filters(ms_h5 *h5, ms_h5_object *data, ms_h5_cell cell) {
    size_t cell_B = ms_h5_cell_B(cell);
    bool is_shuffled = cell_B > 1 && cell != MS_H5_TEXT;
    const uint16_t shuffle[] = {FILTER_SHUFFLE, 0, 1, (uint16_t)cell_B, 0};
    const uint16_t deflate[] = {1, 0, 1, DEFLATE_LEVEL, 0};
    size_t filters = ms_h5_open_message(data, MS_H5_FILTERS);
    ms_h5_number(&data->bytes, 2, 1); /* the version */
    ms_h5_number(&data->bytes, is_shuffled ? 2 : 1, 1);
    ms_buffer_add(&data->bytes, (const char *)shuffle, is_shuffled ? sizeof shuffle : 0);
    ms_buffer_add(&data->bytes, (const char *)deflate, sizeof deflate);
    ms_h5_shut_message(h5, data, filters);
}

/* Bytes of the length of a packed chunk in an index: as many as that of the chunk itself needs, and
 * one more, as the filters may make it longer. */
static size_t length_B(size_t chunk_B) {
    size_t bytes = 1;
    for (size_t left = chunk_B; left > 0; left >>= 8) {
        bytes++;
    }
    return bytes;
}

/* An index of chunks that are all there (VII.C of the specification, fixed array).
 *  chunk_B: of one, not packed.  bits: of how many chunks it has no pages.  Returns its address. */
static uint64_t write_index(ms_h5 *h5, const ms_vector *chunks, size_t chunk_B, int bits) {
    enum { HEAD_B = 28, DATA_HEAD_B = 14, FILTERED = 1 };
    size_t size_B = length_B(chunk_B), entry_B = sizeof(uint64_t) + size_B + sizeof(uint32_t);
    size_t size = DATA_HEAD_B + chunks->count * entry_B + sizeof(uint32_t);
    uint64_t at = ms_h5_reserve(h5, HEAD_B + size);
    ms_buffer bytes;
    ms_buffer_init(&bytes);
    ms_buffer_add(&bytes, "FAHD\0", 5);
    const uint8_t head[] = {FILTERED, (uint8_t)entry_B, (uint8_t)bits};
    ms_buffer_add(&bytes, (const char *)head, sizeof head);
    ms_h5_number(&bytes, chunks->count, sizeof(uint64_t));
    ms_h5_number(&bytes, at + HEAD_B, sizeof(uint64_t));
    ms_h5_number(&bytes, ms_h5_checksum(ms_buffer_text(&bytes), bytes.length), sizeof(uint32_t));
    ms_buffer_add(&bytes, "FADB\0\1", 6);
    ms_h5_number(&bytes, at, sizeof at);
    for (size_t i = 0; i < chunks->count; i++) {
        const chunk_place *place = &MS_AT(chunks, const chunk_place, i);
        ms_h5_number(&bytes, place->at, sizeof place->at);
        ms_h5_number(&bytes, place->size, size_B);
        ms_h5_number(&bytes, 0, sizeof(uint32_t)); /* no filter is left out */
    }
    if (bytes.failed) {
        ms_h5_fail(h5, "out of memory");
    } else {
        uint32_t sum = ms_h5_checksum(bytes.data + HEAD_B, bytes.length - HEAD_B);
        ms_h5_put_at(h5, at, bytes.data, bytes.length);
        ms_h5_put_at(h5, at + bytes.length, &sum, sizeof sum);
    }
    ms_buffer_release(&bytes);
    return at;
}

/* Where the chunks are: one by its place, several by an index. */
static void add_chunks(ms_h5 *h5, ms_h5_object *data, size_t chunk, size_t cell_B,
                       const ms_vector *chunks) {
    static const uint8_t FILL[] = {3, 0x0b}; /* there once they are written */
    int bits = PAGE_BITS;
    while (bits < PAGE_BITS_MOST && (size_t)1 << bits < chunks->count) {
        bits++;
    }
    const chunk_place *first = chunks->data;
    bool is_one = chunks->count == 1;
    uint64_t at = is_one ? first->at : write_index(h5, chunks, chunk * cell_B, bits);
    size_t fill = ms_h5_open_message(data, MS_H5_FILL);
    ms_buffer_add(&data->bytes, (const char *)FILL, sizeof FILL);
    ms_h5_shut_message(h5, data, fill);
    size_t layout = ms_h5_open_message(data, MS_H5_LAYOUT);
    const uint8_t head[] = {4, 2, is_one ? 2 : 0, 2, sizeof(uint32_t)};
    ms_buffer_add(&data->bytes, (const char *)head, sizeof head);
    ms_h5_number(&data->bytes, chunk, sizeof(uint32_t));
    ms_h5_number(&data->bytes, cell_B, sizeof(uint32_t));
    if (is_one) {
        ms_h5_number(&data->bytes, 1, 1); /* one chunk: its size, and no filter left out */
        ms_h5_number(&data->bytes, first->size, sizeof first->size);
        ms_h5_number(&data->bytes, 0, sizeof(uint32_t));
    } else {
        ms_h5_number(&data->bytes, 3, 1); /* a fixed array */
        ms_h5_number(&data->bytes, (uint64_t)bits, 1);
    }
    ms_h5_number(&data->bytes, at, sizeof at);
    ms_h5_shut_message(h5, data, layout);
}

/* DIMENSION_LIST of a column: for each of its dimensions the scales attached to it. */
static void attach(ms_h5 *h5, ms_h5_object *data, uint64_t scale) {
    /* as many references to objects as there are */
    static const uint8_t LIST[] = {0x19, 0, 0, 0, MS_H5_REFERENCE_B, 0, 0, 0, 0x17, 0, 0, 0,
                                   8,    0, 0, 0};
    uint8_t place[MS_H5_REFERENCE_B];
    ms_h5_keep(h5, &scale, sizeof scale, 1, place);
    ms_h5_store(
        h5, data, "DIMENSION_LIST",
        (ms_h5_stored){(ms_h5_bytes){LIST, sizeof LIST}, 1, (ms_h5_bytes){place, sizeof place}});
}

/* The header of a column: small ones have their cells in it, of large ones all chunks are written.
 *  Returns its address. */
static uint64_t write_column(ms_h5 *h5, const ms_column *column, size_t rows,
                             const ms_vector *chunks, uint64_t scale) {
    size_t chunk = chunk_cells(column, rows), cell_B = ms_h5_cell_B(column->cell);
    ms_h5_object data;
    ms_h5_begin(&data, false);
    ms_h5_add_space(h5, &data, (int64_t)rows);
    ms_h5_add_type(h5, &data, column->cell);
    if (chunk > 0) {
        add_filters(h5, &data, column->cell);
        add_chunks(h5, &data, chunk, cell_B, chunks);
    } else {
        make_cells(h5, column, 0, rows);
        ms_h5_add_compact(h5, &data, (ms_h5_bytes){h5->cells, rows * cell_B});
    }
    ms_h5_text(h5, &data, "units", column->units);
    ms_h5_text(h5, &data, "long_name", column->long_name);
    if (column->cell == MS_H5_KIND || column->cell == MS_H5_AXIS) {
        describe_enum(h5, &data, column->cell);
    }
    attach(h5, &data, scale);
    return ms_h5_end(h5, &data);
}

/* ---- dimensions ---- */

/* A column that has the dimension, as REFERENCE_LIST holds it. */
typedef struct scale_user {
    uint64_t column;
    uint64_t dimension; /* of the column, in 32 bits, and what fills the word */
} scale_user;

static void add_name(ms_h5 *h5, ms_h5_object *data, const char *name, const char *text) {
    uint32_t size = (uint32_t)strlen(text) + 1;
    uint8_t type[4 + sizeof size] = {0x13}; /* ASCII, up to a NUL */
    memcpy(type + 4, &size, sizeof size);
    ms_h5_store(
        h5, data, name,
        (ms_h5_stored){(ms_h5_bytes){type, sizeof type}, MS_H5_SCALAR, (ms_h5_bytes){text, size}});
}

/* The dimension: a scale whose name says that it has no coordinates, so that nothing is stored; and
 * room for the list of its users, which comes last.
 * Source: netCDF-4 file format, "dimensions without variables". */
static void begin_dimension(ms_h5 *h5, ms_h5_object *data, const ms_h5_table *table) {
    static const uint8_t TYPE[] = {0x11, 0x21, 0x1f, 0, 4, 0,    0,    0, 0, 0,
                                   0x20, 0,    0x17, 8, 0, 0x17, 0x7f, 0, 0, 0};
    static const uint8_t USERS[] = {0x36, 2,    0,    0,   sizeof(scale_user),
                                    0,    0,    0,    'd', 'a',
                                    't',  'a',  's',  'e', 't',
                                    0,    0,    0x17, 0,   0,
                                    0,    8,    0,    0,   0,
                                    'd',  'i',  'm',  'e', 'n',
                                    's',  'i',  'o',  'n', 0,
                                    8,    0x10, 8,    0,   0,
                                    4,    0,    0,    0,   0,
                                    0,    0x20, 0};
    static const scale_user NOBODY[MS_H5_COLUMNS_MAX];
    char name[80];
    ms_h5_begin(data, false);
    ms_h5_add_space(h5, data, (int64_t)table->rows);
    size_t type = ms_h5_open_message(data, MS_H5_TYPE);
    ms_buffer_add(&data->bytes, (const char *)TYPE, sizeof TYPE);
    ms_h5_shut_message(h5, data, type);
    size_t fill = ms_h5_open_message(data, MS_H5_FILL);
    ms_h5_number(&data->bytes, 0x0a03, sizeof(uint16_t)); /* version 3; there once written */
    ms_h5_shut_message(h5, data, fill);
    size_t layout = ms_h5_open_message(data, MS_H5_LAYOUT);
    ms_h5_number(&data->bytes, 0x0104, sizeof(uint16_t)); /* version 4; in a row, nowhere yet */
    ms_h5_number(&data->bytes, UINT64_MAX, sizeof(uint64_t));
    ms_h5_number(&data->bytes, table->rows * sizeof(float), sizeof(uint64_t));
    ms_h5_shut_message(h5, data, layout);
    snprintf(name, sizeof name, "This is a netCDF dimension but not a netCDF variable.%10zu",
             table->rows);
    add_name(h5, data, "CLASS", "DIMENSION_SCALE");
    add_name(h5, data, "NAME", name);
    ms_h5_store(h5, data, "REFERENCE_LIST",
                (ms_h5_stored){(ms_h5_bytes){USERS, sizeof USERS}, (int64_t)table->column_count,
                               (ms_h5_bytes){NOBODY, table->column_count * sizeof(scale_user)}});
    ms_h5_place(h5, data);
}

/* The columns that use the dimension, behind which stands only its checksum. */
static uint64_t end_dimension(ms_h5 *h5, ms_h5_object *data, const column_file *files,
                              size_t count) {
    for (size_t i = 0; i < count && !h5->failed; i++) {
        const scale_user user = {.column = files[i].at};
        size_t from_end = sizeof(uint32_t) + (count - i) * sizeof user;
        memcpy(data->bytes.data + data->bytes.length - from_end, &user, sizeof user);
    }
    return ms_h5_end(h5, data);
}

/* ---- tables ---- */

static void write_columns(ms_h5 *h5, ms_h5_object *group, const ms_h5_table *table) {
    column_file files[MS_H5_COLUMNS_MAX];
    ms_h5_object dimension;
    for (size_t i = 0; i < table->column_count; i++) {
        ms_vector_init(&files[i].chunks, sizeof(chunk_place));
    }
    if (table->rows > SMALL_CELLS) {
        write_chunks(h5, table, files);
    }
    begin_dimension(h5, &dimension, table);
    for (size_t i = 0; i < table->column_count && !h5->failed; i++) {
        files[i].at =
            write_column(h5, &table->columns[i], table->rows, &files[i].chunks, dimension.at);
    }
    ms_h5_link(h5, group, table->dimension,
               end_dimension(h5, &dimension, files, table->column_count));
    for (size_t i = 0; i < table->column_count; i++) {
        ms_h5_link(h5, group, table->columns[i].name, files[i].at);
        ms_vector_release(&files[i].chunks);
    }
}

void ms_h5_write_table(ms_h5 *h5, const ms_h5_table *table) {
    ms_h5_write_described(h5, table, NULL, NULL);
}

void ms_h5_write_described(ms_h5 *h5, const ms_h5_table *table,
                           void (*describe)(ms_h5 *h5, ms_h5_object *group, const void *context),
                           const void *context) {
    ms_h5_object group;
    if (table->column_count > MS_H5_COLUMNS_MAX) {
        ms_h5_fail(h5, "a table has more columns than fit");
    }
    if (h5->failed) {
        return;
    }
    ms_h5_begin(&group, true);
    ms_h5_text(h5, &group, "long_name", table->long_name);
    if (describe != NULL) {
        describe(h5, &group, context);
    }
    write_columns(h5, &group, table);
    ms_h5_link(h5, &h5->root, table->group, ms_h5_end(h5, &group));
}
