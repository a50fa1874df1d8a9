/* Ranks of a mesh on the GPUs of a platform's nodes. */
#include "meshsim/mesh_picture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/mesh_groups.h"
#include "report/mesh_overview.h"
#include "report/svg.h"

enum {
    WIDTH = 1000,
    MARGIN = 16,
    TOP = 30,
    LINE = 20,
    GPUS_DRAWN = 256,
    GPUS_FIRST = 64,
    TEXT_SIZE = MS_MESH_TEXT_SIZE
};
enum { CELL_WIDTH = 56, CELL_HEIGHT = 34, PAD = 6, HEAD = 18, GAP = 8, NODE_LEAST = 76 };

/* Mean width of a letter at size 1, rather more than that of common fonts. */
static const double LETTER_WIDTH = 0.6;

/* A picture while it is made. */
typedef struct mesh_drawing {
    const ms_mesh_picture *what;
    int axis;              /* whose groups have colours */
    int first_node, nodes; /* that are drawn in full */
    int all_nodes;         /* from the first to the last with a rank */
    int columns, rows;     /* of GPUs in a node */
    int unit_nodes;        /* nodes of a unit of the fabric; 0: it has none */
    double node_width, node_height;
    const int *ranks; /* [all_nodes * GPUs of a node] of each GPU that is drawn; -1: none */
    ms_buffer *out;
} mesh_drawing;

/* ---- texts ---- */

/* A text of at most this size, smaller where it would leave its room. */
static void add_text(const mesh_drawing *d, const double at[2], const double fit[2],
                     const char *more, const char *text) {
    char look[96];
    double letters = fmax(1, (double)strlen(text));
    double size = fmin(fit[0], floor(20 * fit[1] / (LETTER_WIDTH * letters)) / 20);
    snprintf(look, sizeof look, " font-size=\"%g\"%s", size, more);
    ms_svg_text(at[0], at[1], look, text, d->out);
}

static void add_line(const mesh_drawing *d, double y, double size, const char *text) {
    add_text(d, (const double[]){MARGIN, y}, (const double[]){size, WIDTH - 2.0 * MARGIN}, "",
             text);
}

static const char *plural(int count) {
    return count == 1 ? "" : "s";
}

/* ---- what is drawn ---- */

/* Nodes of the innermost domain that holds several nodes, but not all. */
static int find_unit(const ms_platform *platform) {
    for (int tier = 0; tier < platform->tier_count; tier++) {
        int gpus = ms_platform_domain(platform, tier);
        if (gpus > platform->gpus_per_node && gpus < ms_platform_gpus(platform)) {
            return gpus / platform->gpus_per_node;
        }
    }
    return 0;
}

/* Lowest and highest node with a rank. */
static void find_ends(const ms_mesh *mesh, const ms_platform *platform, int ends_out[2]) {
    ends_out[0] = platform->nodes - 1;
    ends_out[1] = 0;
    for (int place = 0; place < mesh->ranks; place++) {
        int gpu = ms_mesh_device(mesh, ms_mesh_rank_at(mesh, place));
        int node = ms_platform_node(platform, gpu);
        ends_out[0] = node < ends_out[0] ? node : ends_out[0];
        ends_out[1] = node > ends_out[1] ? node : ends_out[1];
    }
}

static const int *find_ranks(const mesh_drawing *d, ms_arena *scratch) {
    const ms_mesh *mesh = d->what->mesh;
    int gpus_per_node = d->what->platform->gpus_per_node;
    int count = d->all_nodes * gpus_per_node;
    int *ranks = MS_NEW(scratch, int, count);
    for (int i = 0; i < count && ranks != NULL; i++) {
        ranks[i] = -1;
    }
    for (int place = 0; place < mesh->ranks && ranks != NULL; place++) {
        int rank = ms_mesh_rank_at(mesh, place);
        int gpu = ms_mesh_device(mesh, rank) - d->first_node * gpus_per_node;
        if (gpu < count) {
            ranks[gpu] = rank;
        }
    }
    return ranks;
}

static int coloured_axis(const ms_mesh_picture *p) {
    int axis = p->axis >= 0 ? p->axis : p->mesh->axes - 1;
    while (p->axis < 0 && axis > 0 && p->mesh->sizes[axis] == 1) {
        axis--;
    }
    return axis;
}

static void lay_out(mesh_drawing *d, ms_arena *scratch) {
    const ms_platform *platform = d->what->platform;
    int gpus = platform->gpus_per_node;
    int most = gpus < GPUS_DRAWN ? GPUS_DRAWN / gpus : 1;
    int ends[2] = {0, platform->nodes - 1};
    if (platform->nodes > most) {
        find_ends(d->what->mesh, platform, ends);
    }
    d->first_node = ends[0];
    d->all_nodes = ends[1] - ends[0] + 1;
    d->nodes = d->all_nodes;
    if (d->all_nodes > most) { /* the overview has them all */
        d->nodes = gpus < GPUS_FIRST ? GPUS_FIRST / gpus : 1;
    }
    int shown = gpus < GPUS_DRAWN ? gpus : GPUS_DRAWN;
    d->columns = shown <= 4 ? shown : shown <= 16 ? 4 : shown % 9 == 0 ? 9 : 8;
    d->rows = (shown + d->columns - 1) / d->columns;
    d->node_width = fmax(NODE_LEAST, d->columns * CELL_WIDTH + 2 * PAD);
    d->node_height = HEAD + d->rows * CELL_HEIGHT + PAD;
    d->unit_nodes = find_unit(platform);
    d->ranks = find_ranks(d, scratch);
}

/* ---- GPUs ---- */

static bool is_spare(const ms_mesh_picture *p, int gpu) {
    return p->uses != NULL && p->uses[gpu] == MS_GPU_SPARE;
}

static void add_rank(const mesh_drawing *d, const double at[2], int rank) {
    char text[TEXT_SIZE];
    double middle = at[0] + CELL_WIDTH / 2.0;
    snprintf(text, sizeof text, "%d", rank);
    add_text(d, (const double[]){middle, at[1] + 15}, (const double[]){13, CELL_WIDTH - 6},
             " font-weight=\"bold\" text-anchor=\"middle\"", text);
    ms_mesh_text_place(d->what->mesh, rank, false, text);
    add_text(d, (const double[]){middle, at[1] + 28}, (const double[]){10, CELL_WIDTH - 6},
             " text-anchor=\"middle\"", text);
}

static void add_gpu(const mesh_drawing *d, const double at[2], int gpu) {
    const ms_mesh_picture *p = d->what;
    char title[2 * TEXT_SIZE];
    char coordinates[TEXT_SIZE];
    int rank = d->ranks[gpu - d->first_node * p->platform->gpus_per_node];
    const char *word = is_spare(p, gpu) ? "spare" : "idle";
    const char *fill = is_spare(p, gpu) ? MS_MESH_SPARE_COLOUR : MS_MESH_IDLE_COLOUR;
    snprintf(title, sizeof title, "GPU %d: %s", gpu, word);
    if (rank >= 0) {
        int group = ms_mesh_group_number(p->mesh, d->axis, rank);
        fill = ms_mesh_group_colour(group);
        ms_mesh_text_place(p->mesh, rank, true, coordinates);
        snprintf(title, sizeof title, "GPU %d: rank %d, %s; group %d of %s", gpu, rank, coordinates,
                 group, p->mesh->names[d->axis]);
    }
    /* halfway to white, so that black letters are read on all colours */
    ms_buffer_printf(d->out,
                     "<rect x=\"%g\" y=\"%g\" width=\"%d\" height=\"%d\" fill=\"%s\"%s "
                     "stroke=\"#fff\">",
                     at[0], at[1], (int)CELL_WIDTH, (int)CELL_HEIGHT, fill,
                     rank >= 0 ? " fill-opacity=\"0.5\"" : "");
    ms_svg_title(title, d->out);
    ms_buffer_puts(d->out, "</rect>\n");
    if (rank >= 0) {
        add_rank(d, at, rank);
    } else {
        add_text(d, (const double[]){at[0] + CELL_WIDTH / 2.0, at[1] + 21},
                 (const double[]){11, CELL_WIDTH - 6}, " text-anchor=\"middle\" fill=\"#444\"",
                 word);
    }
}

/* ---- nodes ---- */

static void add_node(const mesh_drawing *d, const double at[2], int node) {
    char text[TEXT_SIZE];
    int gpus = d->what->platform->gpus_per_node;
    int shown = gpus < GPUS_DRAWN ? gpus : GPUS_DRAWN;
    snprintf(text, sizeof text, "node %d", node);
    if (shown < gpus) {
        snprintf(text, sizeof text, "node %d: the first %d of %d GPUs", node, shown, gpus);
    }
    ms_buffer_printf(d->out,
                     "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"none\" "
                     "stroke=\"#999\"/>\n",
                     at[0], at[1], d->node_width, d->node_height);
    add_text(d, (const double[]){at[0] + PAD, at[1] + 13},
             (const double[]){11, d->node_width - 2 * PAD}, " fill=\"#444\"", text);
    double left = at[0] + (d->node_width - d->columns * CELL_WIDTH) / 2;
    for (int i = 0; i < shown; i++) {
        int row = i / d->columns;
        const double place[] = {left + i % d->columns * CELL_WIDTH,
                                at[1] + HEAD + (double)row * CELL_HEIGHT};
        add_gpu(d, place, node * gpus + i);
    }
}

/* All nodes, row by row, and the name of each unit above its first one; where they end. */
static double add_nodes(const mesh_drawing *d, double y) {
    double x = MARGIN;
    for (int i = 0; i < d->nodes; i++) {
        int node = d->first_node + i;
        bool is_first = d->unit_nodes > 0 && (i == 0 || node % d->unit_nodes == 0);
        if (i > 0 && (is_first || x + d->node_width > WIDTH - MARGIN)) {
            x = MARGIN;
            y += d->node_height + GAP;
        }
        if (is_first) {
            char text[TEXT_SIZE];
            snprintf(text, sizeof text, "unit %d of the fabric, %d nodes", node / d->unit_nodes,
                     d->unit_nodes);
            add_line(d, y + 13, 12, text);
            y += LINE;
        }
        add_node(d, (const double[]){x, y}, node);
        x += d->node_width + GAP;
    }
    return y + d->node_height;
}

/* ---- what it means ---- */

static void add_axis(const mesh_drawing *d, int axis, double y) {
    const ms_mesh_picture *p = d->what;
    char text[TEXT_SIZE];
    int groups = ms_mesh_group_count(p->mesh, axis);
    int tier = ms_mesh_axis_tier(p->mesh, axis, p->platform);
    snprintf(text, sizeof text, "%s: %d group%s of %d%s%s%s", p->mesh->names[axis], groups,
             plural(groups), p->mesh->sizes[axis], tier < 0 ? "" : " over ",
             tier < 0 ? "" : p->platform->tiers[tier].name,
             axis == d->axis ? "; a colour for each group, seven in turn" : "");
    add_line(d, y, 13, text);
}

/* ---- all nodes in small ---- */

/* The axis of experts of a mesh; -1: none, or one of size 1. */
static int expert_axis(const ms_mesh *mesh) {
    int axis = mesh == NULL ? -1 : ms_mesh_axis(mesh, "ep");
    return axis >= 0 && mesh->sizes[axis] > 1 ? axis : -1;
}

/* Nodes that are not drawn in full, and groups of experts where the cells have other groups'
 * colours; where it ends. */
static double add_overviews(const mesh_drawing *d, double y) {
    const ms_mesh_picture *p = d->what;
    char text[2 * TEXT_SIZE];
    char shape[TEXT_SIZE];
    ms_mesh_overview all = {.what = text,
                            .mesh = p->mesh,
                            .axis = d->axis,
                            .platform = p->platform,
                            .uses = p->uses,
                            .ranks = d->ranks,
                            .first_node = d->first_node,
                            .nodes = d->all_nodes,
                            .unit_nodes = d->unit_nodes,
                            .left = MARGIN,
                            .width = WIDTH - 2 * MARGIN};
    if (d->nodes < d->all_nodes) {
        snprintf(text, sizeof text, "all %d nodes, the first %d of them above", d->all_nodes,
                 d->nodes);
        y = ms_mesh_overview_add(&all, y + GAP, d->out);
    }
    bool is_own = p->expert_mesh != NULL;
    all.mesh = is_own ? p->expert_mesh : p->mesh;
    all.axis = expert_axis(all.mesh);
    if (all.axis >= 0 && (is_own || all.axis != d->axis)) {
        ms_mesh_text_shape(all.mesh, shape);
        snprintf(text, sizeof text, "experts: %s", shape);
        all.must_group = true;
        y = ms_mesh_overview_add(&all, y + GAP, d->out);
    }
    return y;
}

static void add_left(const mesh_drawing *d, double y) {
    char text[TEXT_SIZE];
    int nodes = d->what->platform->nodes - d->all_nodes;
    if (nodes > 0) {
        snprintf(text, sizeof text, "not drawn: %d node%s without ranks", nodes, plural(nodes));
        add_line(d, y, 13, text);
    }
}

static double add_head(const mesh_drawing *d) {
    const ms_mesh_picture *p = d->what;
    char shape[TEXT_SIZE];
    char text[2 * TEXT_SIZE];
    double y = TOP;
    ms_mesh_text_shape(p->mesh, shape);
    snprintf(text, sizeof text, "mesh %s on %s", shape, p->platform->name);
    add_line(d, y, 16, text);
    y += LINE + 4;
    int nodes = p->platform->nodes;
    int gpus = p->platform->gpus_per_node;
    snprintf(text, sizeof text,
             "%d rank%s on %d node%s of %d GPU%s; on each GPU its rank and its coordinates, "
             "outermost axis first",
             p->mesh->ranks, plural(p->mesh->ranks), nodes, plural(nodes), gpus, plural(gpus));
    add_line(d, y, 13, text);
    for (int axis = 0; axis < p->mesh->axes; axis++) {
        y += LINE;
        add_axis(d, axis, y);
    }
    return y + GAP;
}

void ms_mesh_picture_write(const ms_mesh_picture *picture, ms_arena *scratch, ms_buffer *out) {
    ms_buffer body;
    ms_buffer_init(&body);
    mesh_drawing d = {.what = picture, .axis = coloured_axis(picture), .out = &body};
    lay_out(&d, scratch);
    if (d.ranks != NULL) {
        double end = add_overviews(&d, add_nodes(&d, add_head(&d))) + LINE + 4;
        add_left(&d, end);
        ms_buffer_printf(out,
                         "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%g\" "
                         "font-family=\"sans-serif\" font-size=\"13\">\n"
                         "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                         (int)WIDTH, end + MARGIN);
        ms_buffer_puts(out, ms_buffer_text(&body));
        ms_buffer_puts(out, "</svg>\n");
        out->failed = out->failed || body.failed;
    }
    ms_buffer_release(&body);
}
