/* Colours, coordinates and ticks of pictures in SVG (svg.h). */
#include "trace/report/svg.h"

#include <math.h>
#include <stdio.h>

#include "base/event.h"

/* The colour of a code such as 0x56B4E9. */
static ms_rgb rgb(unsigned code) {
    return (ms_rgb){(double)(code >> 16 & 0xFFU) / 255.0, (double)(code >> 8 & 0xFFU) / 255.0,
                    (double)(code & 0xFFU) / 255.0};
}

/* The colour of an operation kind on the first chunk. */
static ms_rgb base_colour(uint8_t kind) {
    switch (kind) {
    case MS_OP_FORWARD:
        return rgb(0x56B4E9); /* sky blue */
    case MS_OP_INPUT_GRAD:
        return rgb(0xCC79A7); /* reddish purple: differs from F also where both are pale */
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
    /* share of white: 0.29 for the second chunk, 0.45 for the third, at most 0.65 */
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
    double digits = -floor(log10(tick) + 1e-9); /* 1e-9: log10 of a power of ten may round down */
    return digits < 0.0 ? 0 : digits > 12.0 ? 12 : (int)digits;
}
