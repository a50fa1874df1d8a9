#include "report/mesh_overview.h"

#include <stdio.h>

#include "report/mesh_groups.h"
#include "report/svg.h"

enum { GPUS_MAX = 4096, CELLS_MAX = 16384 }; /* cells of GPUs; cells of nodes */
enum { CELL = 9, NODE_GAP = 4, NODE_CELL = 6, LABEL_WIDTH = 72, LINE = 20, HEAD_GAP = 10 };
enum { COLUMNS_MAX = 64, TITLE_SIZE = 2 * MS_MESH_TEXT_SIZE };
enum { KEY_IDLE = -1, KEY_SPARE = -2 };

static int rank_at(const ms_mesh_overview *o, int node, int gpu) {
    return o->ranks[(size_t)node * (size_t)o->platform->gpus_per_node + (size_t)gpu];
}

/* Number of a colour: of the group of a rank; without one, whether its GPU is a spare. */
static int key_of_gpu(const ms_mesh_overview *o, int node, int gpu) {
    int rank = rank_at(o, node, gpu);
    int id = (o->first_node + node) * o->platform->gpus_per_node + gpu;
    bool is_spare = o->uses != NULL && o->uses[id] == MS_GPU_SPARE;
    return rank >= 0  ? ms_mesh_group_number(o->mesh, o->axis, rank)
           : is_spare ? KEY_SPARE
                      : KEY_IDLE;
}

static const char *fill_of(int key) {
    return key == KEY_IDLE    ? MS_MESH_IDLE_COLOUR
           : key == KEY_SPARE ? MS_MESH_SPARE_COLOUR
                              : ms_mesh_group_colour(key);
}

/* The opacity of a full picture's cells, so that a colour is the same in both. */
static void add_cell(const double box[4], int key, const char *title, ms_buffer *out) {
    ms_buffer_printf(out, "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"%s\"%s>",
                     box[0], box[1], box[2], box[3], fill_of(key),
                     key >= 0 ? " fill-opacity=\"0.7\"" : "");
    ms_svg_title(title, out);
    ms_buffer_puts(out, "</rect>\n");
}

static void add_label(const ms_mesh_overview *o, double y, int node, ms_buffer *out) {
    char text[32];
    snprintf(text, sizeof text, "node %d", o->first_node + node);
    ms_svg_text(o->left + LABEL_WIDTH - 8, y + 8,
                " font-size=\"10\" text-anchor=\"end\" fill=\"#444\"", text, out);
}

/* ---- a cell for each GPU ---- */

static void add_gpu(const ms_mesh_overview *o, const double at[2], int node, int gpu,
                    ms_buffer *out) {
    char title[TITLE_SIZE];
    char place[MS_MESH_TEXT_SIZE];
    int rank = rank_at(o, node, gpu);
    int key = key_of_gpu(o, node, gpu);
    int id = (o->first_node + node) * o->platform->gpus_per_node + gpu;
    snprintf(title, sizeof title, "GPU %d: %s", id, key == KEY_SPARE ? "spare" : "idle");
    if (rank >= 0) {
        ms_mesh_text_place(o->mesh, rank, true, place);
        snprintf(title, sizeof title, "GPU %d: rank %d, %s; group %d of %s", id, rank, place, key,
                 o->mesh->names[o->axis]);
    }
    add_cell((const double[]){at[0], at[1], CELL - 1, CELL - 1}, key, title, out);
}

static double add_gpus(const ms_mesh_overview *o, double y, ms_buffer *out) {
    int gpus = o->platform->gpus_per_node;
    int columns = gpus <= 4 ? gpus : gpus <= 16 ? 4 : gpus % 9 == 0 ? 9 : 8;
    columns = gpus > COLUMNS_MAX * 8 ? COLUMNS_MAX : columns;
    int rows = (gpus + columns - 1) / columns;
    int node_width = columns * CELL + NODE_GAP;
    int per_row = (int)(o->width - LABEL_WIDTH) / node_width;
    per_row = per_row < 1 ? 1 : per_row;
    for (int node = 0; node < o->nodes; node++) {
        int row = node / per_row;
        double top = y + (double)row * (rows * CELL + NODE_GAP);
        double left = o->left + LABEL_WIDTH + (double)(node % per_row) * node_width;
        if (node % per_row == 0) {
            add_label(o, top, node, out);
        }
        for (int gpu = 0; gpu < gpus; gpu++) {
            int gpu_row = gpu / columns;
            const double at[] = {left + (double)(gpu % columns) * CELL,
                                 top + (double)gpu_row * CELL};
            add_gpu(o, at, node, gpu, out);
        }
    }
    int node_rows = (o->nodes + per_row - 1) / per_row;
    return y + (double)node_rows * (rows * CELL + NODE_GAP);
}

/* ---- a cell for each node, or for some in a row ---- */

/* The axis whose coordinate nodes are coloured by: the outermost with several. */
static int outermost(const ms_mesh *mesh) {
    int axis = 0;
    while (axis + 1 < mesh->axes && mesh->sizes[axis] == 1) {
        axis++;
    }
    return axis;
}

/* Whether no node has ranks of several groups. */
static bool has_whole_nodes(const ms_mesh_overview *o) {
    for (int node = 0; node < o->nodes; node++) {
        int first = -1;
        for (int gpu = 0; gpu < o->platform->gpus_per_node; gpu++) {
            int key = key_of_gpu(o, node, gpu);
            if (key >= 0 && first >= 0 && key != first) {
                return false;
            }
            first = key >= 0 ? key : first;
        }
    }
    return true;
}

/* Number of a node's colour: of its first rank the coordinate along `axis`, or where that is -1
 * the group. */
static int key_of_node(const ms_mesh_overview *o, int axis, int node) {
    int coordinates[MS_MESH_AXES_MAX];
    for (int gpu = 0; gpu < o->platform->gpus_per_node; gpu++) {
        int rank = rank_at(o, node, gpu);
        if (rank >= 0 && axis >= 0) {
            ms_mesh_coordinates(o->mesh, rank, coordinates);
            return coordinates[axis];
        }
        if (rank >= 0) {
            return key_of_gpu(o, node, gpu);
        }
    }
    return key_of_gpu(o, node, 0);
}

static void add_run(const ms_mesh_overview *o, const double box[4], const int ends[2], int axis,
                    ms_buffer *out) {
    char title[TITLE_SIZE];
    char what[MS_MESH_TEXT_SIZE];
    int key = key_of_node(o, axis, ends[0]);
    if (axis < 0) {
        snprintf(what, sizeof what, "group %d of %s", key, o->mesh->names[o->axis]);
    } else {
        snprintf(what, sizeof what, "%s %d", o->mesh->names[axis], key);
    }
    snprintf(title, sizeof title, "nodes %d to %d: %s", o->first_node + ends[0],
             o->first_node + ends[1],
             key == KEY_SPARE  ? "spare"
             : key == KEY_IDLE ? "idle"
                               : what);
    add_cell(box, key, title, out);
}

/* How many nodes a cell stands for, and how many cells a row has: whole units of the fabric. */
static int nodes_per_cell(const ms_mesh_overview *o) {
    return (o->nodes + CELLS_MAX - 1) / CELLS_MAX;
}

static int cells_per_row(const ms_mesh_overview *o) {
    int room = (int)(o->width - LABEL_WIDTH) / NODE_CELL;
    int unit = o->unit_nodes / nodes_per_cell(o);
    return unit > 0 && unit <= room ? room - room % unit : room;
}

/* Cells of one colour in a row are one box. */
static double add_nodes(const ms_mesh_overview *o, int axis, double y, ms_buffer *out) {
    int each = nodes_per_cell(o);
    int per_row = cells_per_row(o);
    int cells = (o->nodes + each - 1) / each;
    for (int cell = 0; cell < cells;) {
        int row = cell / per_row;
        int row_end = (row + 1) * per_row;
        int end = cell + 1;
        while (end < cells && end < row_end &&
               key_of_node(o, axis, end * each) == key_of_node(o, axis, cell * each)) {
            end++;
        }
        double top = y + (double)row * (NODE_CELL + 1);
        const double box[] = {o->left + LABEL_WIDTH + (double)(cell % per_row) * NODE_CELL, top,
                              (end - cell) * NODE_CELL - 1.0, NODE_CELL};
        int last = end * each - 1;
        const int ends[] = {cell * each, last < o->nodes ? last : o->nodes - 1};
        add_run(o, box, ends, axis, out);
        if (cell % (2 * per_row) == 0) {
            add_label(o, top, cell * each, out);
        }
        cell = end;
    }
    int rows = (cells + per_row - 1) / per_row;
    return y + (double)rows * (NODE_CELL + 1);
}

static bool is_by_gpu(const ms_mesh_overview *o) {
    return (double)o->nodes * o->platform->gpus_per_node <= GPUS_MAX;
}

static void add_heading(const ms_mesh_overview *o, int axis, double y, ms_buffer *out) {
    char text[2 * TITLE_SIZE];
    char cell[48];
    int each = nodes_per_cell(o);
    snprintf(cell, sizeof cell, "each %d nodes", each);
    snprintf(text, sizeof text, "%s; a cell for %s, a colour for each %s%s, seven in turn", o->what,
             is_by_gpu(o) ? "each GPU"
             : each == 1  ? "each node"
                          : cell,
             axis < 0 ? "group of " : "", o->mesh->names[axis < 0 ? o->axis : axis]);
    ms_svg_text(o->left, y, "", text, out);
}

double ms_mesh_overview_add(const ms_mesh_overview *o, double y, ms_buffer *out) {
    char text[2 * TITLE_SIZE];
    double below = y + LINE + HEAD_GAP;
    bool is_in_nodes = o->must_group && !is_by_gpu(o) && !has_whole_nodes(o);
    int axis = is_by_gpu(o) || o->must_group ? -1 : outermost(o->mesh);
    if (is_in_nodes) {
        snprintf(text, sizeof text, "%s; nodes hold ranks of several groups of %s", o->what,
                 o->mesh->names[o->axis]);
        ms_svg_text(o->left, y + LINE, "", text, out);
        return below;
    }
    add_heading(o, axis, y + LINE, out);
    return is_by_gpu(o) ? add_gpus(o, below, out) : add_nodes(o, axis, below, out);
}
