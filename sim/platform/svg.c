/* Picture of a platform's levels: core, spine, leaf switches, nodes, and one node opened up. Where
 * there are more units than fit, the first ones and the last stand for all. */
#include <math.h>
#include <stdio.h>

#include "meshsim/units.h"
#include "platform/pictures.h"

/* Page, in pixels: tier names on the left, the graph on the right. */
enum {
    WIDTH = 1000,
    LEFT = 210,
    RIGHT = 980,
    ROW = 96,
    BOX = 34,
    TOP = 56,
    UNITS_SHOWN = 6,
    LEAVES_SHOWN = 16,
    GPUS_SHOWN = 16
};

typedef struct picture {
    const ms_platform *platform;
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

void ms_platform_svg_text(const char *text, ms_buffer *out) {
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20) {
            ms_buffer_puts(out, " ");
        } else if (*text == '<' || *text == '&' || *text == '>' || *text == '"') {
            ms_buffer_printf(out, "&#%d;", *text);
        } else {
            ms_buffer_add(out, text, 1);
        }
    }
}

static void write_text(const picture *p, double x, double y, const char *text) {
    ms_buffer_printf(p->out, "<text x=\"%.1f\" y=\"%.1f\">", x, y);
    ms_platform_svg_text(text, p->out);
    ms_buffer_puts(p->out, "</text>\n");
}

static void write_box(const picture *p, const box *b, const char *label) {
    ms_buffer_printf(p->out,
                     "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"3\" "
                     "fill=\"%s\" stroke=\"#444\"/>\n",
                     b->x, b->y, b->width, (int)BOX, b->fill);
    ms_buffer_printf(p->out, "<text class=\"mid\" x=\"%.1f\" y=\"%.1f\">", b->x + b->width / 2,
                     b->y + BOX / 2.0 + 4);
    ms_platform_svg_text(label, p->out);
    ms_buffer_puts(p->out, "</text>\n");
}

static void write_line(const picture *p, double x0, double y0, double x1, double y1) {
    ms_buffer_printf(p->out,
                     "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#888\"/>\n",
                     x0, y0, x1, y1);
}

/* Name, achieved bandwidth and latency of a tier, between two rows. */
static void write_tier(const picture *p, int tier, int row_y) {
    const ms_tier *facts = &p->platform->tiers[tier];
    ms_link_info link = ms_platform_link(p->platform, facts->first_link);
    char speed[64] = "unlimited", delay[64], line[192];
    double y = row_y + BOX + 20;
    if (!isinf(link.capacity_Bps)) {
        ms_unit_format(link.capacity_Bps, MS_DIM_BANDWIDTH, speed, sizeof speed);
    }
    ms_unit_format(facts->latency_s, MS_DIM_TIME, delay, sizeof delay);
    snprintf(line, sizeof line, "%s: %d links", facts->name, facts->links);
    write_text(p, 16, y, line);
    snprintf(line, sizeof line, "%s a link, %s", speed, delay);
    write_text(p, 16, y + 16, line);
}

static double column_x(const picture *p, int column) {
    return LEFT + (double)(RIGHT - LEFT) * column / p->shown;
}

static double column_width(const picture *p) {
    return (double)(RIGHT - LEFT) / p->shown - 14;
}

/* The leaf switches of a unit, side by side, each with its line to the nodes and to the spine. */
static void write_leaves(const picture *p, int column) {
    const ms_topology *topology = ms_topology_of(p->platform);
    int leaves = topology->leaves_per_unit;
    int drawn = leaves < LEAVES_SHOWN ? leaves : LEAVES_SHOWN;
    double step = column_width(p) / drawn;
    for (int i = 0; i < drawn; i++) {
        char label[32] = "leaf";
        double x = column_x(p, column) + i * step;
        const box b = {.x = x, .y = p->leaf_y, .width = step - 2, .fill = "#cfe3f5"};
        if (leaves > 1) {
            snprintf(label, sizeof label, "%d", i);
        }
        write_line(p, x + step / 2, p->leaf_y + BOX, x + step / 2, p->node_y);
        if (p->spine_y >= 0) {
            write_line(p, x + step / 2, p->leaf_y, x + step / 2, p->spine_y + BOX);
        }
        write_box(p, &b, drawn < leaves && i == drawn - 1 ? ".." : label);
    }
}

static void write_units(const picture *p) {
    const ms_topology *topology = ms_topology_of(p->platform);
    write_text(p, 16, p->leaf_y + BOX / 2.0 + 4,
               topology->leaves_per_unit > 1 ? "one leaf switch per rail" : "leaf switches");
    for (int c = 0; c < p->shown; c++) {
        int unit = p->units[c];
        int first = unit * topology->nodes_per_unit;
        int left = p->platform->nodes - first;
        int nodes = left < topology->nodes_per_unit ? left : topology->nodes_per_unit;
        char label[64];
        int length = topology->units > 1 ? snprintf(label, sizeof label, "unit %d: ", unit) : 0;
        snprintf(label + length, sizeof label - (size_t)length, "%d node%s", nodes,
                 nodes == 1 ? "" : "s");
        write_leaves(p, c);
        const box b = {
            .x = column_x(p, c), .y = p->node_y, .width = column_width(p), .fill = "#f2f2f2"};
        write_box(p, &b, label);
        if (c > 0 && unit != p->units[c - 1] + 1) {
            write_text(p, column_x(p, c) - 12, p->node_y + BOX / 2.0 + 4, "..");
        }
    }
}

/* A pod's spine spans the units drawn of it. */
static void write_spines(const picture *p) {
    const ms_topology *topology = ms_topology_of(p->platform);
    for (int c = 0; c < p->shown && p->spine_y >= 0;) {
        int pod = p->units[c] / topology->units_per_pod;
        int end = c;
        while (end < p->shown && p->units[end] / topology->units_per_pod == pod) {
            end++;
        }
        double x = column_x(p, c);
        char label[64] = "spine";
        const box b = {
            .x = x, .y = p->spine_y, .width = column_x(p, end) - 14 - x, .fill = "#d8ecd0"};
        if (topology->pods > 1) {
            snprintf(label, sizeof label, "spine of pod %d", pod);
        }
        if (p->core_y >= 0) {
            write_line(p, x + b.width / 2, p->spine_y, x + b.width / 2, p->core_y + BOX);
        }
        write_box(p, &b, label);
        c = end;
    }
    if (p->core_y >= 0) {
        const box b = {.x = LEFT, .y = p->core_y, .width = RIGHT - LEFT - 14, .fill = "#f5e3c4"};
        write_box(p, &b, "core");
    }
}

/* One node: its GPUs below the NVLink switch that joins them. */
static void write_inside(const picture *p) {
    int gpus = p->platform->gpus_per_node;
    int drawn = gpus < GPUS_SHOWN ? gpus : GPUS_SHOWN;
    double step = (double)(RIGHT - 14 - LEFT) / drawn;
    const box bar = {.x = LEFT, .y = p->inside_y, .width = RIGHT - LEFT - 14, .fill = "#e6dcf2"};
    for (int i = 0; i < drawn; i++) {
        char label[32];
        double x = LEFT + i * step;
        const box b = {.x = x, .y = p->inside_y + ROW, .width = step - 6, .fill = "#ffffff"};
        snprintf(label, sizeof label, "GPU %d", i);
        write_line(p, x + step / 2, p->inside_y + BOX, x + step / 2, p->inside_y + ROW);
        write_box(p, &b, drawn < gpus && i == drawn - 1 ? ".." : label);
    }
    write_box(p, &bar, "inside a node");
    write_tier(p, ms_topology_of(p->platform)->node_tier, p->inside_y);
}

static void lay_out(const ms_platform *platform, ms_buffer *out, picture *p) {
    const ms_topology *topology = ms_topology_of(platform);
    int y = TOP;
    *p = (picture){.platform = platform, .out = out, .core_y = -1, .spine_y = -1, .inside_y = -1};
    p->shown = topology->units < UNITS_SHOWN ? topology->units : UNITS_SHOWN;
    for (int c = 0; c < p->shown; c++) {
        p->units[c] = c == p->shown - 1 ? topology->units - 1 : c;
    }
    if (topology->core_tier >= 0) {
        p->core_y = y;
        y += ROW;
    }
    if (topology->spine_tier >= 0) {
        p->spine_y = y;
        y += ROW;
    }
    p->leaf_y = y;
    p->node_y = y + ROW;
    y += ROW + BOX;
    if (topology->node_tier >= 0) {
        p->inside_y = y + BOX;
        y += BOX + ROW + BOX;
    }
    p->height = y + BOX;
}

void ms_platform_write_svg(const ms_platform *platform, ms_buffer *out) {
    const ms_topology *topology = ms_topology_of(platform);
    picture p;
    if (topology->kind == MS_FABRIC_TORUS) {
        ms_torus_write_svg(platform, out);
        return;
    }
    lay_out(platform, out, &p);
    ms_buffer_printf(out,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                     "font-family=\"sans-serif\" font-size=\"12\">\n"
                     "<style>.mid{text-anchor:middle}</style>\n"
                     "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
                     (int)WIDTH, p.height, (int)WIDTH, p.height);
    ms_buffer_puts(out, "<text x=\"16\" y=\"28\" font-size=\"15\">");
    ms_platform_svg_text(platform->name, out);
    ms_buffer_printf(out, ": %d nodes of %d x ", platform->nodes, platform->gpus_per_node);
    ms_platform_svg_text(platform->gpu.name, out);
    ms_buffer_puts(out, "</text>\n");
    write_spines(&p);
    write_units(&p);
    if (p.inside_y >= 0) {
        write_inside(&p);
    }
    if (p.core_y >= 0) {
        write_tier(&p, topology->core_tier, p.core_y);
    }
    if (p.spine_y >= 0) {
        write_tier(&p, topology->spine_tier, p.spine_y);
    }
    write_tier(&p, topology->port_tier, p.leaf_y);
    ms_buffer_puts(out, "</svg>\n");
}
