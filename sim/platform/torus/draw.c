/* Pictures of tori. */
#include <stdio.h>

#include "meshsim/units.h"
#include "platform/picture.h"
#include "platform/torus/torus.h"

enum {
    CHIPS_DRAWN_MAX = 256,
    PODS_DRAWN_MAX = 64,
    PODS_SHOWN = 3,
    SIDE_SHOWN = 16,
    PITCH = 15,
    LEGEND = 22,
    TEXT_SIZE = 96
};

/* "16 x 16 x 8" */
static char *shape_text(const ms_torus *torus, char *out, size_t size) {
    int length = 0;
    for (int d = 0; d < torus->dimensions; d++) {
        length += snprintf(out + length, size - (size_t)length, "%s%d", d == 0 ? "" : " x ",
                           torus->shape[d]);
    }
    return out;
}

/* What a link of a tier achieves. */
static char *speed_text(const ms_platform *platform, int tier, char *out, size_t size) {
    ms_link_info link = ms_platform_link(platform, platform->tiers[tier].first_link);
    return ms_tier_bandwidth_text(&platform->tiers[tier], link.capacity_Bps, out, size);
}

/* Each pair of neighbours once: the one the way up leads to; where that is the chip itself, or was
 * drawn from the other side, nothing. */
static void write_chips(const ms_platform *platform, ms_buffer *out) {
    const ms_torus *torus = ms_torus_of(platform);
    char speed[TEXT_SIZE];
    speed_text(platform, 0, speed, sizeof speed);
    ms_buffer_printf(out, "  label=\"%s a link and direction\";\n", speed);
    for (int chip = 0; chip < ms_platform_gpus(platform); chip++) {
        ms_buffer_printf(out, "  chip%d [label=\"%d\", shape=circle];\n", chip, chip);
        for (int d = 0; d < torus->dimensions; d++) {
            int next = ms_torus_neighbour(torus, chip, d, MS_LINK_UP);
            if (next > chip || (next < chip && torus->shape[d] > 2)) {
                ms_buffer_printf(out, "  chip%d -- chip%d;\n", chip, next);
            }
        }
    }
}

/* Pods one by one, or all in one shape. */
static void write_pods(const ms_platform *platform, ms_buffer *out) {
    const ms_torus *torus = ms_torus_of(platform);
    char shape[TEXT_SIZE], speed[TEXT_SIZE];
    int shapes = torus->pods <= PODS_DRAWN_MAX ? torus->pods : 1;
    for (int pod = 0; pod < shapes; pod++) {
        ms_buffer_printf(out, "  pod%d [label=\"", pod);
        if (shapes < torus->pods) {
            ms_buffer_printf(out, "%d pods, each", torus->pods);
        } else {
            ms_buffer_printf(out, "pod %d", pod);
        }
        ms_buffer_printf(out, "\\n%s x ", shape_text(torus, shape, sizeof shape));
        ms_platform_dot_name(platform->gpu.name, out);
        ms_buffer_printf(out, "\\n%s a link and direction\"];\n",
                         speed_text(platform, 0, speed, sizeof speed));
    }
}

/* Ports of the nodes to the network that joins the pods. */
static void write_network(const ms_platform *platform, bool has_chips, ms_buffer *out) {
    const ms_torus *torus = ms_torus_of(platform);
    int pods = torus->pods;
    int shapes = has_chips ? platform->nodes : pods <= PODS_DRAWN_MAX ? pods : 1;
    char speed[TEXT_SIZE];
    speed_text(platform, torus->port_tier, speed, sizeof speed);
    ms_buffer_puts(out, "  network [shape=box, label=\"");
    ms_platform_dot_name(platform->tiers[torus->port_tier].name, out);
    ms_buffer_puts(out, "\"];\n");
    for (int i = 0; i < shapes; i++) {
        int ports = platform->nodes / shapes * platform->nics_per_node;
        ms_buffer_printf(out, "  %s%d -- network [label=\"%d x %s\"];\n",
                         has_chips ? "chip" : "pod", has_chips ? i * platform->gpus_per_node : i,
                         ports, speed);
    }
}

void ms_torus_write_dot(const ms_platform *platform, ms_buffer *out) {
    bool has_chips = ms_platform_gpus(platform) <= CHIPS_DRAWN_MAX;
    if (has_chips) {
        write_chips(platform, out);
    } else {
        write_pods(platform, out);
    }
    if (ms_torus_of(platform)->pods > 1) {
        write_network(platform, has_chips, out);
    }
}

/* The first plane of a pod, as far as it is drawn. */
typedef struct plane {
    int left, top;
    int rows, columns;
    int first_chip, chips_per_row;
} plane;

static int drawn_side(int chips) {
    return chips < SIDE_SHOWN ? chips : SIDE_SHOWN;
}

static void write_line(ms_buffer *out, const int ends[4]) {
    ms_buffer_printf(out, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"#888\"/>\n",
                     ends[0], ends[1], ends[2], ends[3]);
}

/* Fill of a chip by what a job does with it. */
static const char *fill_of(const uint8_t *uses, int chip) {
    static const char *const FILLS[] = {
        [MS_GPU_USED] = MS_FILL_LEAF, [MS_GPU_IDLE] = MS_FILL_IDLE, [MS_GPU_SPARE] = MS_FILL_SPARE};
    return FILLS[uses == NULL ? MS_GPU_USED : uses[chip]];
}

/* Chips of a plane as dots. */
static void write_dots(const plane *p, const uint8_t *uses, ms_buffer *out) {
    for (int i = 0; i < p->rows * p->columns; i++) {
        int x = i % p->columns;
        int y = i / p->columns;
        ms_buffer_printf(out, "<circle cx=\"%d\" cy=\"%d\" r=\"4\" fill=\"%s\" stroke=\"#999\"/>\n",
                         p->left + x * PITCH, p->top + y * PITCH,
                         fill_of(uses, p->first_chip + y * p->chips_per_row + x));
    }
}

/* Lines that leave a plane on one side enter it on the other. */
static void write_plane(const plane *p, ms_buffer *out) {
    int right = p->left + (p->columns - 1) * PITCH;
    int bottom = p->top + (p->rows - 1) * PITCH;
    for (int r = 0; r < p->rows && p->columns > 1; r++) {
        int y = p->top + r * PITCH;
        write_line(out, (const int[4]){p->left - PITCH / 2, y, right + PITCH / 2, y});
    }
    for (int c = 0; c < p->columns && p->rows > 1; c++) {
        int x = p->left + c * PITCH;
        write_line(out, (const int[4]){x, p->top - PITCH / 2, x, bottom + PITCH / 2});
    }
}

static void write_pod(const ms_platform *platform, int pod, int top, const uint8_t *uses,
                      ms_buffer *out) {
    const ms_torus *torus = ms_torus_of(platform);
    char shape[TEXT_SIZE];
    int left = 210 + pod * 260;
    ms_buffer_printf(out, "<text x=\"%d\" y=\"%d\" font-size=\"12\">pod %d: %s</text>\n", left,
                     top + 16, pod, shape_text(torus, shape, sizeof shape));
    const plane p = {.left = left + PITCH,
                     .top = top + 40,
                     .rows = drawn_side(torus->shape[1]),
                     .columns = drawn_side(torus->shape[0]),
                     .first_chip = pod * torus->chips,
                     .chips_per_row = torus->shape[0]};
    write_plane(&p, out);
    write_dots(&p, uses, out);
    if (torus->pods > 1) {
        write_line(out, (const int[4]){left + 110, top - 28, left + 110, top});
    }
}

void ms_torus_write_svg(const ms_platform *platform, const uint8_t *uses, ms_buffer *out) {
    const ms_torus *torus = ms_torus_of(platform);
    int shown = torus->pods < PODS_SHOWN ? torus->pods : PODS_SHOWN;
    int rows = drawn_side(torus->shape[1]);
    int top = torus->pods > 1 ? 128 : 62;
    int height = top + 40 + rows * PITCH + 40 + (uses != NULL ? LEGEND : 0);
    ms_platform_svg_head(platform, height, out);
    for (int pod = 0; pod < shown; pod++) {
        write_pod(platform, pod, top, uses, out);
    }
    if (torus->pods > 1) {
        ms_buffer_puts(out, "<rect x=\"210\" y=\"66\" width=\"760\" height=\"34\" "
                            "fill=\"" MS_FILL_CORE "\" stroke=\"#999\"/>\n");
        ms_platform_svg_tier(platform, torus->port_tier, 82, out);
    }
    ms_platform_svg_tier(platform, 0, top + 54, out);
    ms_platform_svg_legend(platform, uses, MS_FILL_LEAF, height - 34, out);
    ms_buffer_printf(out,
                     "<text x=\"16\" y=\"%d\" font-size=\"11\" fill=\"#666\">%s%d pod%s; one plane "
                     "of each is drawn%s; lines that leave a plane come back on the other "
                     "side</text>\n</svg>\n",
                     height - 14, shown < torus->pods ? "first of " : "", torus->pods,
                     torus->pods == 1 ? "" : "s",
                     torus->dimensions > 2 ? ", piles of planes are closed likewise" : "");
}
