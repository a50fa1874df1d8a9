/* Writing HDF5 without HDF5: groups, attributes and tables of columns, keeping the first error.
 *
 * HDF5 takes 20,000 instructions for an attribute, of which a trace has hundreds, more than a small
 * step takes to simulate; and it crashes where memory runs out. A trace needs little of the format
 * (h5.md), so its bytes are made here. Every function is a no-op after a failure, so one check at
 * the end is enough. Source: HDF5 File Format Specification, version 3.0. */
#ifndef MS_TRACE_H5_H
#define MS_TRACE_H5_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meshsim/arena.h"
#include "meshsim/buffer.h"
#include "trace/pack.h"

enum {
    MS_H5_TEXT_B = 48,         /* longest name in a text column, with its NUL */
    MS_H5_CHUNK_CELLS = 65024, /* of 8 bytes they fit HDF5's 1 MiB chunk cache, and a byte of each
                                  zlib's window, which need not move on in a plane then */
    MS_H5_COLUMNS_MAX = 32,    /* of a table */
    MS_H5_TAIL_B = 1 << 16     /* written at once */
};

/* What cells are. */
typedef enum ms_h5_cell {
    MS_H5_KIND, /* enum ms_op_kind */
    MS_H5_AXIS, /* enum ms_axis */
    MS_H5_I16,
    MS_H5_I32,
    MS_H5_I64,
    MS_H5_F64,
    MS_H5_TEXT, /* of a column: MS_H5_TEXT_B bytes */
    MS_H5_I8,
    MS_H5_BOOL,  /* as h5py has it: an enum of 8 bits {FALSE, TRUE} */
    MS_H5_WORDS, /* a C string of any length; data are pointers to them */
    MS_H5_CELLS
} ms_h5_cell;

/* ---- the file ---- */

/* The global heap's newest collection: texts and references, up to its size. */
typedef struct ms_h5_heap {
    uint64_t at; /* address of the collection */
    size_t size; /* that it has in the file; 0: there is none yet */
    uint32_t objects;
    ms_buffer bytes;
} ms_h5_heap;

/* A group, dataset or type whose header is being made. */
typedef struct ms_h5_object {
    ms_buffer bytes; /* of its header, up to the checksum */
    uint64_t at;     /* where it will stand; 0: wherever the file has come to */
    uint32_t attributes;
    uint32_t links;
    bool is_group;
} ms_h5_object;

typedef struct ms_h5 {
    int file;         /* descriptor, the caller's */
    uint64_t end;     /* address behind all that has its place */
    uint64_t tail_at; /* of the bytes that are not written yet */
    size_t tail_B;
    uint8_t *tail;
    ms_h5_heap heap;
    ms_h5_object root;
    ms_buffer types; /* one behind the other, as the file has them */
    size_t type_at[MS_H5_CELLS + 1];
    void *cells;     /* one chunk of a column */
    uint8_t *planes; /* its bytes by significance */
    uint8_t *packed; /* these compressed */
    ms_packer *packer;
    bool failed;
    char cause[256]; /* of the first failure */
} ms_h5;

/* Start a file: `file` is an empty one, open for writing.  scratch: keeps the buffers. */
void ms_h5_create(ms_h5 *h5, int file, ms_arena *scratch);
/* Write what is left, also after a failure: the file stays the caller's.  Returns whether all went
 * well. */
bool ms_h5_close(ms_h5 *h5);
/* Note a failure. */
void ms_h5_fail(ms_h5 *h5, const char *cause);

/* The next bytes of the file.  Returns their address. */
uint64_t ms_h5_put(ms_h5 *h5, const void *bytes, size_t size);
/* Room for bytes that come later, by ms_h5_put_at.  Returns its address. */
uint64_t ms_h5_reserve(ms_h5 *h5, size_t size);
void ms_h5_put_at(ms_h5 *h5, uint64_t at, const void *bytes, size_t size);

/* Write all that is left but the first block. */
void ms_h5_flush(ms_h5 *h5);

/* Checksum of metadata: Bob Jenkins' lookup3, hashlittle() from 0.  O(size). */
uint32_t ms_h5_checksum(const void *bytes, size_t size);

/* What stands in a cell of variable length: how many, and where in the heap. */
enum { MS_H5_REFERENCE_B = 16 };
/* Put [count] things, of `size` bytes together, into the heap. */
void ms_h5_keep(ms_h5 *h5, const void *bytes, size_t size, uint32_t count,
                uint8_t reference_out[MS_H5_REFERENCE_B]);

/* ---- objects ---- */

/* Bytes of a cell in memory. */
size_t ms_h5_cell_B(ms_h5_cell cell);

/* Cells in a row, of which an attribute or a dataset consists. */
typedef struct ms_h5_cells {
    ms_h5_cell cell;
    int64_t count; /* or one of the next */
    const void *data;
} ms_h5_cells;
enum { MS_H5_SCALAR = -1, MS_H5_NOTHING = -2 };

/* A type or data as the file has them. */
typedef struct ms_h5_bytes {
    const void *bytes;
    size_t size;
} ms_h5_bytes;

void ms_h5_begin(ms_h5_object *object, bool is_group);
/* Write the header of an object, which ends it.  Returns its address. */
uint64_t ms_h5_end(ms_h5 *h5, ms_h5_object *object);
/* Settle where an object stands, whose header grows no more; its bytes may change. */
void ms_h5_place(ms_h5 *h5, ms_h5_object *object);
/* Name an object in a group. */
void ms_h5_link(ms_h5 *h5, ms_h5_object *group, const char *name, uint64_t address);

void ms_h5_text(ms_h5 *h5, ms_h5_object *object, const char *name, const char *text);
void ms_h5_integer(ms_h5 *h5, ms_h5_object *object, const char *name, int64_t integer);
/* An attribute; of more cells than a header takes, one cell of variable length. */
void ms_h5_attribute(ms_h5 *h5, ms_h5_object *object, const char *name, ms_h5_cells cells);
/* Most texts of an attribute; more are refused. */
enum { MS_H5_WORDS_MOST = 4000 };
/* An attribute as the file has it. */
typedef struct ms_h5_stored {
    ms_h5_bytes type;
    int64_t count; /* as of ms_h5_cells */
    ms_h5_bytes data;
} ms_h5_stored;
void ms_h5_store(ms_h5 *h5, ms_h5_object *object, const char *name, ms_h5_stored attribute);
/* A text as a scalar dataset with its sha256 as attribute. */
void ms_h5_document(ms_h5 *h5, ms_h5_object *group, const char *name, const char *text);

/* A type that has a name, as netCDF-4 wants its enums. */
void ms_h5_name_type(ms_h5 *h5, ms_h5_object *group, const char *name, ms_h5_cell cell);

/* Messages, of which headers consist. */
typedef enum ms_h5_message {
    MS_H5_SPACE = 0x01,
    MS_H5_LINKS = 0x02,
    MS_H5_TYPE = 0x03,
    MS_H5_FILL = 0x05,
    MS_H5_LINK = 0x06,
    MS_H5_LAYOUT = 0x08,
    MS_H5_GROUP = 0x0a,
    MS_H5_FILTERS = 0x0b,
    MS_H5_ATTRIBUTE = 0x0c,
    MS_H5_ATTRIBUTES = 0x15
} ms_h5_message;
/* Begin one, whose bytes are added to those of the object.  Returns what ends it. */
size_t ms_h5_open_message(ms_h5_object *object, ms_h5_message message);
void ms_h5_shut_message(ms_h5 *h5, ms_h5_object *object, size_t at);
/* Numbers of a message, the least significant byte first. */
void ms_h5_number(ms_buffer *bytes, uint64_t number, size_t size);
/* Of a dataset: its length; what its cells are; the cells themselves, in its header. */
void ms_h5_add_space(ms_h5 *h5, ms_h5_object *object, int64_t count);
void ms_h5_add_type(ms_h5 *h5, ms_h5_object *object, ms_h5_cell cell);
void ms_h5_add_compact(ms_h5 *h5, ms_h5_object *object, ms_h5_bytes data);
/* The types of all cells; part of ms_h5_create. */
void ms_h5_make_types(ms_h5 *h5);

/* ---- tables ---- */

typedef struct ms_column {
    const char *name;
    ms_h5_cell cell;
    const char *units;
    const char *long_name;
    const void *source; /* first record of an array, or whatever `fill` wants */
    size_t stride;      /* bytes from record to record; 0: `fill` makes the cells */
    size_t offset;      /* of the cell in a record */
    void (*fill)(const struct ms_column *column, size_t first, size_t count, void *cells_out);
} ms_column;

/* A group with one shared dimension (an HDF5 dimension scale without stored coordinates, as
 * netCDF-4 has them) and one 1-D dataset per column. */
typedef struct ms_h5_table {
    const char *group;
    const char *dimension; /* name of the shared dimension */
    const char *long_name; /* what a row is */
    size_t rows;
    const ms_column *columns;
    size_t column_count;
} ms_h5_table;

void ms_h5_write_table(ms_h5 *h5, const ms_h5_table *table);
/* The same with more attributes of its group, which `describe` adds. */
void ms_h5_write_described(ms_h5 *h5, const ms_h5_table *table,
                           void (*describe)(ms_h5 *h5, ms_h5_object *group, const void *context),
                           const void *context);

/* Fill one cell of a text column: cut at MS_H5_TEXT_B bytes, padded with NULs. */
void ms_h5_put_text(char *cell_out, const char *text);

#endif
