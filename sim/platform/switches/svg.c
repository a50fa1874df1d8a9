/* Picture of switches: core, spine, leaf switches, nodes, and one node opened up. Where
 * there are more units than fit, the first ones and the last stand for all. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "meshsim/units.h"
#include "meshsim/value.h"
#include "platform/picture.h"
#include "platform/switches/switches.h"

/* Page, in pixels: tier names on the left, the graph on the right. */
enum {
    RIGHT = 980,
    ROW = 96,
    BOX = 34,
    TOP = 66,
    LEGEND = 20,
    UNITS_SHOWN = 6,
    LEAVES_SHOWN = 16,
    GPUS_SHOWN = 16
};

typedef struct picture {
    const ms_platform *platform;
    const uint8_t *uses; /* [GPUs] ms_gpu_use; NULL: no job is shown */
    ms_buffer *out;
    int units[UNITS_SHOWN]; /* unit numbers drawn, the last one may skip some */
    int shown;
    int core_y, spine_y, leaf_y, node_y, inside_y; /* tops of the rows; -1: no such row */
    int height;
} picture;

/* A box of a row. */
typedef struct box {
    double x, y, width;
    const char *fill;
} box;

static const double LEAST_SIZE = 6.5; /* of letters that can be read */

static void write_text(const picture *p, double x, double y, const char *text) {
    ms_platform_svg_line(p->out, (const double[]){x, y}, MS_PICTURE_LEFT - 4, "", text);
}

static void write_rect(const picture *p, const box *b) {
    ms_buffer_printf(p->out,
                     "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\" "
                     "stroke=\"#999\"/>\n",
                     b->x, b->y, b->width, (int)BOX, b->fill);
}

/* The label of a box, in letters of a size that the whole row has; smaller ones are left out. */
static void write_label(const picture *p, const box *b, double size, const char *label) {
    if (size >= LEAST_SIZE) {
        ms_buffer_printf(p->out,
                         "<text text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\" font-size=\"%g\">",
                         b->x + b->width / 2, b->y + BOX / 2.0 + 0.35 * size, size);
        ms_xml_write_text(p->out, label);
        ms_buffer_puts(p->out, "</text>\n");
    }
}

static void write_box(const picture *p, const box *b, double size, const char *label) {
    write_rect(p, b);
    write_label(p, b, size, label);
}

/* Nodes of a unit; the last one may have fewer than the others. */
static int nodes_of(const picture *p, int unit) {
    int nodes = ms_switches_of(p->platform)->nodes_per_unit;
    int left = p->platform->nodes - unit * nodes;
    return left < nodes ? left : nodes;
}

/* GPUs of a node without a rank; a spare node has none at all. */
static int unused_gpus(const picture *p, int node) {
    int per_node = p->platform->gpus_per_node;
    int count = 0;
    for (int i = 0; i < per_node; i++) {
        count += p->uses[(size_t)node * (size_t)per_node + (size_t)i] != MS_GPU_USED;
    }
    return count;
}

static bool is_spare(const picture *p, int node) {
    return p->uses[(size_t)node * (size_t)p->platform->gpus_per_node] == MS_GPU_SPARE;
}

/* What of a unit's box no rank uses: spare nodes, and from its top the share of a node that is
 * idle. Neighbours that are alike are drawn as one. */
static void write_uses(const picture *p, const box *b, int unit) {
    int first = unit * ms_switches_of(p->platform)->nodes_per_unit;
    int nodes = p->uses == NULL ? 0 : nodes_of(p, unit);
    for (int i = 0, end = 0; i < nodes; i = end) {
        int unused = unused_gpus(p, first + i);
        bool spare = is_spare(p, first + i);
        for (end = i + 1; end < nodes && unused_gpus(p, first + end) == unused &&
                          is_spare(p, first + end) == spare;
             end++) {
        }
        if (unused > 0) {
            ms_buffer_printf(p->out,
                             "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" "
                             "fill=\"%s\"/>\n",
                             b->x + b->width * i / nodes, b->y, b->width * (end - i) / nodes,
                             BOX * (double)unused / p->platform->gpus_per_node,
                             spare ? MS_FILL_SPARE : MS_FILL_IDLE);
        }
    }
}

/* Size at which a label fits boxes of a width. */
static double label_size(const char *label, double width) {
    return ms_platform_svg_fit(MS_PICTURE_LETTERS, strlen(label), width - 4.0);
}

static void write_line(const picture *p, double x0, double y0, double x1, double y1) {
    ms_buffer_printf(p->out,
                     "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#888\"/>\n",
                     x0, y0, x1, y1);
}

/* A tier between two rows. */
static void write_tier(const picture *p, int tier, int row_y) {
    ms_platform_svg_tier(p->platform, tier, row_y + BOX + 20, p->out);
}

static double column_x(const picture *p, int column) {
    return MS_PICTURE_LEFT + (double)(RIGHT - MS_PICTURE_LEFT) * column / p->shown;
}

static double column_width(const picture *p) {
    return (double)(RIGHT - MS_PICTURE_LEFT) / p->shown - 14;
}

/* The leaf switches of a unit, side by side, each with its line to the nodes and to the spine. */
static void write_leaves(const picture *p, int column) {
    const ms_switches *switches = ms_switches_of(p->platform);
    int leaves = switches->leaves_per_unit;
    int drawn = leaves < LEAVES_SHOWN ? leaves : LEAVES_SHOWN;
    double step = column_width(p) / drawn;
    for (int i = 0; i < drawn; i++) {
        char label[32] = "leaf";
        double x = column_x(p, column) + i * step;
        const box b = {.x = x, .y = p->leaf_y, .width = step - 2, .fill = MS_FILL_LEAF};
        if (leaves > 1) {
            snprintf(label, sizeof label, "%d", i);
        }
        write_line(p, x + step / 2, p->leaf_y + BOX, x + step / 2, p->node_y);
        if (p->spine_y >= 0) {
            write_line(p, x + step / 2, p->leaf_y, x + step / 2, p->spine_y + BOX);
        }
        write_box(p, &b,
                  label_size(leaves > 10  ? "00"
                             : leaves > 1 ? "0"
                                          : label,
                             b.width),
                  drawn < leaves && i == drawn - 1 ? ".." : label);
    }
}

/* "unit 3: 20 nodes" */
static void name_unit(const picture *p, int unit, char *label, size_t size) {
    const ms_switches *switches = ms_switches_of(p->platform);
    int nodes = nodes_of(p, unit);
    int length = switches->units > 1 ? snprintf(label, size, "unit %d: ", unit) : 0;
    snprintf(label + length, size - (size_t)length, "%d node%s", nodes, nodes == 1 ? "" : "s");
}

/* Letters of the row's longest label, that of the last unit or the one before it. */
static double unit_size(const picture *p) {
    double size = MS_PICTURE_LETTERS;
    for (int c = 0; c < p->shown; c++) {
        char label[64];
        name_unit(p, p->units[c], label, sizeof label);
        size = fmin(size, label_size(label, column_width(p)));
    }
    return size;
}

static void write_units(const picture *p) {
    const ms_switches *switches = ms_switches_of(p->platform);
    write_text(p, 16, p->leaf_y + BOX / 2.0 + 4,
               switches->leaves_per_unit > 1 ? "one leaf switch per rail" : "leaf switches");
    for (int c = 0; c < p->shown; c++) {
        int unit = p->units[c];
        char label[64];
        name_unit(p, unit, label, sizeof label);
        write_leaves(p, c);
        const box b = {
            .x = column_x(p, c), .y = p->node_y, .width = column_width(p), .fill = MS_FILL_NODE};
        write_rect(p, &b);
        write_uses(p, &b, unit);
        write_label(p, &b, unit_size(p), label);
        if (c > 0 && unit != p->units[c - 1] + 1) {
            ms_buffer_printf(p->out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"12\">..</text>\n",
                             column_x(p, c) - 11, p->node_y + BOX / 2.0 + 4);
        }
    }
}

/* A pod's spine spans the units drawn of it. */
static void write_spines(const picture *p) {
    const ms_switches *switches = ms_switches_of(p->platform);
    for (int c = 0; c < p->shown && p->spine_y >= 0;) {
        int pod = p->units[c] / switches->units_per_pod;
        int end = c;
        while (end < p->shown && p->units[end] / switches->units_per_pod == pod) {
            end++;
        }
        double x = column_x(p, c);
        char label[64] = "spine";
        const box b = {
            .x = x, .y = p->spine_y, .width = column_x(p, end) - 14 - x, .fill = MS_FILL_SPINE};
        if (switches->pods > 1) {
            snprintf(label, sizeof label, "spine of pod %d", pod);
        }
        if (p->core_y >= 0) {
            write_line(p, x + b.width / 2, p->spine_y, x + b.width / 2, p->core_y + BOX);
        }
        write_box(p, &b, label_size(label, b.width), label);
        c = end;
    }
    if (p->core_y >= 0) {
        const box b = {.x = MS_PICTURE_LEFT,
                       .y = p->core_y,
                       .width = RIGHT - MS_PICTURE_LEFT - 14,
                       .fill = MS_FILL_CORE};
        write_box(p, &b, MS_PICTURE_LETTERS, "core");
    }
}

/* One node: its GPUs below the switch or the links that join them. */
static void write_inside(const picture *p) {
    int gpus = p->platform->gpus_per_node;
    int drawn = gpus < GPUS_SHOWN ? gpus : GPUS_SHOWN;
    double step = (double)(RIGHT - 14 - MS_PICTURE_LEFT) / drawn;
    const box bar = {.x = MS_PICTURE_LEFT,
                     .y = p->inside_y,
                     .width = RIGHT - MS_PICTURE_LEFT - 14,
                     .fill = MS_FILL_INSIDE};
    for (int i = 0; i < drawn; i++) {
        char label[32];
        double x = MS_PICTURE_LEFT + i * step;
        const box b = {.x = x, .y = p->inside_y + ROW, .width = step - 6, .fill = "#ffffff"};
        snprintf(label, sizeof label, "GPU %d", i);
        write_line(p, x + step / 2, p->inside_y + BOX, x + step / 2, p->inside_y + ROW);
        write_box(p, &b, label_size("GPU 00", b.width),
                  drawn < gpus && i == drawn - 1 ? ".." : label);
    }
    write_box(p, &bar, MS_PICTURE_LETTERS,
              p->platform->tiers[0].is_paired ? "inside a node: a link between every two GPUs"
                                              : "inside a node");
    write_tier(p, ms_switches_of(p->platform)->node_tier, p->inside_y);
}

/* Whether a job leaves GPUs of a unit out. */
static bool has_unused(const picture *p, int unit) {
    int first = unit * ms_switches_of(p->platform)->nodes_per_unit;
    int unused = 0;
    for (int i = 0; i < nodes_of(p, unit) && unused == 0; i++) {
        unused = unused_gpus(p, first + i);
    }
    return unused > 0;
}

/* The units that are drawn: of more than there is room for the first and the last, between them
 * those that a job leaves in part or whole, and then the others, each from the first one on. */
static void choose_units(picture *p) {
    int units = ms_switches_of(p->platform)->units;
    p->shown = units < UNITS_SHOWN ? units : UNITS_SHOWN;
    p->units[0] = 0;
    p->units[p->shown - 1] = units - 1;
    int chosen = 1; /* of those before the last one */
    for (int u = 1; u + 1 < units && chosen + 1 < p->shown && p->uses != NULL; u++) {
        if (has_unused(p, u)) {
            p->units[chosen++] = u;
        }
    }
    for (int u = 1; u + 1 < units && chosen + 1 < p->shown; u++) {
        int at = chosen;
        while (at > 1 && p->units[at - 1] > u) {
            at--;
        }
        if (p->units[at - 1] == u) {
            continue;
        }
        for (int i = chosen++; i > at; i--) {
            p->units[i] = p->units[i - 1];
        }
        p->units[at] = u;
    }
}

static void lay_out(const ms_platform *platform, const uint8_t *uses, ms_buffer *out, picture *p) {
    const ms_switches *switches = ms_switches_of(platform);
    int y = TOP;
    *p = (picture){.platform = platform,
                   .uses = uses,
                   .out = out,
                   .core_y = -1,
                   .spine_y = -1,
                   .inside_y = -1};
    choose_units(p);
    if (switches->core_tier >= 0) {
        p->core_y = y;
        y += ROW;
    }
    if (switches->spine_tier >= 0) {
        p->spine_y = y;
        y += ROW;
    }
    p->leaf_y = y;
    p->node_y = y + ROW;
    y += ROW + BOX;
    if (switches->node_tier >= 0) {
        p->inside_y = y + BOX;
        y += BOX + ROW + BOX;
    }
    p->height = y + BOX + (uses != NULL ? LEGEND : 0);
}

void ms_switches_write_svg(const ms_platform *platform, const uint8_t *uses, ms_buffer *out) {
    const ms_switches *switches = ms_switches_of(platform);
    picture p;
    lay_out(platform, uses, out, &p);
    ms_platform_svg_head(platform, p.height, out);
    write_spines(&p);
    write_units(&p);
    if (p.inside_y >= 0) {
        write_inside(&p);
    }
    if (p.core_y >= 0) {
        write_tier(&p, switches->core_tier, p.core_y);
    }
    if (p.spine_y >= 0) {
        write_tier(&p, switches->spine_tier, p.spine_y);
    }
    write_tier(&p, switches->port_tier, p.leaf_y);
    ms_platform_svg_legend(platform, uses, MS_FILL_NODE, p.height - BOX / 2, out);
    ms_buffer_puts(out, "</svg>\n");
}
