#include "report/svg.h"

#include <math.h>
#include <stdio.h>

#include "meshsim/event.h"
#include "meshsim/value.h"

static ms_rgb rgb(unsigned code) {
    return (ms_rgb){(double)(code >> 16 & 0xFFU) / 255.0, (double)(code >> 8 & 0xFFU) / 255.0,
                    (double)(code & 0xFFU) / 255.0};
}

static ms_rgb base_colour(uint8_t kind) {
    switch (kind) {
    case MS_OP_FORWARD:
        return rgb(0x56B4E9); /* sky blue */
    case MS_OP_INPUT_GRAD:
        return rgb(0xCC79A7); /* reddish purple: stays apart from F when both are pale */
    case MS_OP_WEIGHT_GRAD:
        return rgb(0xF0E442); /* yellow */
    case MS_OP_BACKWARD:
        return rgb(0x009E73); /* bluish green */
    case MS_OP_RECOMPUTE:
        return rgb(0xE69F00); /* orange */
    case MS_OP_OPTIMIZER:
        return rgb(0x333333); /* near black */
    default:
        return rgb(0xD55E00); /* vermilion: communication */
    }
}

ms_rgb ms_svg_colour(uint8_t kind, int chunk) {
    ms_rgb colour = base_colour(kind);
    /* each further chunk goes a third of the way to white that is left, at most two thirds */
    double pale = chunk <= 0 ? 0.0 : 0.65 * (1.0 - pow(0.55, chunk));
    return (ms_rgb){colour.r + (1.0 - colour.r) * pale, colour.g + (1.0 - colour.g) * pale,
                    colour.b + (1.0 - colour.b) * pale};
}

bool ms_svg_is_light(ms_rgb colour) {
    /* Source: luma weights of ITU-R BT.601 */
    return 0.299 * colour.r + 0.587 * colour.g + 0.114 * colour.b > 0.5;
}

const char *ms_svg_hex(ms_rgb colour, char text_out[8]) {
    snprintf(text_out, 8, "#%02x%02x%02x", (unsigned)lrint(255.0 * colour.r) & 0xFFU,
             (unsigned)lrint(255.0 * colour.g) & 0xFFU, (unsigned)lrint(255.0 * colour.b) & 0xFFU);
    return text_out;
}

/* Seven colours and five shapes: their numbers have no common divisor. Source: Okabe and Ito, Color
 * Universal Design (2008). */
static const char *const COLOURS[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#000000"};
enum { COLOUR_COUNT = sizeof COLOURS / sizeof COLOURS[0] };
static const char *const SHAPES[] = {"M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z", /* circle */
                                     "M-3.5,-3.5h7v7h-7z",                  /* square */
                                     "M0,-4.6L4.4,3.4H-4.4z",               /* triangle */
                                     "M0,-5L4,0L0,5L-4,0z",                 /* diamond */
                                     "M-4,-4L4,4M-4,4L4,-4"};               /* cross */
enum { SHAPE_COUNT = sizeof SHAPES / sizeof SHAPES[0] };

const char *ms_svg_series_colour(size_t series) {
    return COLOURS[series % COLOUR_COUNT];
}

void ms_svg_text(double x, double y, const char *more, const char *text, ms_buffer *out) {
    ms_buffer_printf(out, "<text x=\"%g\" y=\"%g\"%s>", x, y, more);
    ms_xml_write_text(out, text);
    ms_buffer_puts(out, "</text>\n");
}

void ms_svg_title(const char *name, ms_buffer *out) {
    if (name != NULL) {
        ms_buffer_puts(out, "<title>");
        ms_xml_write_text(out, name);
        ms_buffer_puts(out, "</title>");
    }
}

void ms_svg_marker(const ms_svg_mark *mark, ms_buffer *out) {
    const char *colour = ms_svg_series_colour(mark->series);
    ms_buffer_printf(out,
                     "<path transform=\"translate(%g,%g)\" d=\"%s\" fill=\"%s\" "
                     "fill-opacity=\"%g\" stroke=\"%s\" stroke-width=\"1.2\">",
                     mark->x, mark->y, SHAPES[mark->series % SHAPE_COUNT], colour, mark->opacity,
                     colour);
    ms_svg_title(mark->name, out);
    ms_buffer_puts(out, "</path>\n");
}

double ms_svg_round(double pixels) {
    return round(pixels * 10.0) / 10.0;
}

double ms_svg_tick(double range, int most) {
    double least = range / (most < 1 ? 1 : most);
    double power = pow(10.0, floor(log10(least)));
    double digit = least / power;
    double nice = digit <= 1.0 ? 1.0 : digit <= 2.0 ? 2.0 : digit <= 5.0 ? 5.0 : 10.0;
    return nice * power;
}

int ms_svg_decimals(double tick) {
    double digits = -floor(log10(tick) + 1e-9);
    return digits < 0.0 ? 0 : digits > 12.0 ? 12 : (int)digits;
}
