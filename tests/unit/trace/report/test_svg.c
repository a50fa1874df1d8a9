/* The colours of passes, as people with each kind of colour vision see them. */
#include <criterion/criterion.h>
#include <math.h>

#include "base/event.h"
#include "trace/report/svg.h"

typedef struct vision {
    const char *name;
    double matrix[3][3]; /* of linear RGB */
} vision;

/* Source: Machado, Oliveira and Fernandes, A Physiologically-based Model for Simulation of Color
 * Vision Deficiency (2009), severity 1. */
static const vision VISIONS[] = {
    {"full", {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
    {"protanopia",
     {{0.152286, 1.052583, -0.204868},
      {0.114503, 0.786281, 0.099216},
      {-0.003882, -0.048116, 1.051998}}},
    {"deuteranopia",
     {{0.367322, 0.860646, -0.227968},
      {0.280085, 0.672501, 0.047413},
      {-0.011820, 0.042940, 0.968881}}},
};

static double linear(double value) {
    return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4);
}

static double root(double t) {
    return t > 0.008856 ? cbrt(t) : 7.787 * t + 16.0 / 116.0;
}

/* CIE L*a*b* of what is seen.  Source: CIE 15, D65. */
static void see(const vision *eyes, ms_rgb colour, double lab_out[3]) {
    const double given[3] = {linear(colour.r), linear(colour.g), linear(colour.b)};
    double seen[3];
    for (int i = 0; i < 3; i++) {
        double sum = 0;
        for (int j = 0; j < 3; j++) {
            sum += eyes->matrix[i][j] * given[j];
        }
        seen[i] = fmin(fmax(sum, 0.0), 1.0);
    }
    double x = root((0.4124 * seen[0] + 0.3576 * seen[1] + 0.1805 * seen[2]) / 0.9505);
    double y = root(0.2126 * seen[0] + 0.7152 * seen[1] + 0.0722 * seen[2]);
    double z = root((0.0193 * seen[0] + 0.1192 * seen[1] + 0.9505 * seen[2]) / 1.089);
    lab_out[0] = 116.0 * y - 16.0;
    lab_out[1] = 500.0 * (x - y);
    lab_out[2] = 200.0 * (y - z);
}

static double distance(const vision *eyes, ms_rgb a, ms_rgb b) {
    double left[3];
    double right[3];
    see(eyes, a, left);
    see(eyes, b, right);
    return sqrt(pow(left[0] - right[0], 2) + pow(left[1] - right[1], 2) +
                pow(left[2] - right[2], 2));
}

/* A difference of 2.3 is just noticed; boxes side by side want several times that. */
Test(svg, passes_and_chunks_are_told_apart_with_any_colour_vision) {
    static const uint8_t KINDS[] = {MS_OP_FORWARD,  MS_OP_INPUT_GRAD, MS_OP_WEIGHT_GRAD,
                                    MS_OP_BACKWARD, MS_OP_RECOMPUTE,  MS_OP_OPTIMIZER,
                                    MS_OP_P2P};
    static const ms_rgb WHITE = {1, 1, 1};
    for (size_t eyes = 0; eyes < sizeof VISIONS / sizeof VISIONS[0]; eyes++) {
        for (int i = 0; i < 2 * 7; i++) {
            ms_rgb one = ms_svg_colour(KINDS[i / 2], i % 2);
            cr_assert_gt(distance(&VISIONS[eyes], one, WHITE), 10.0);
            for (int j = i + 1; j < 2 * 7; j++) {
                ms_rgb other = ms_svg_colour(KINDS[j / 2], j % 2);
                double apart = distance(&VISIONS[eyes], one, other);
                cr_assert_gt(apart, 9.0, "%s: %s %d, %s %d: %.1f", VISIONS[eyes].name,
                             ms_op_kind_name((ms_op_kind)KINDS[i / 2]), i % 2,
                             ms_op_kind_name((ms_op_kind)KINDS[j / 2]), j % 2, apart);
            }
        }
    }
}

/* Words on boxes: black or white, whichever is_light says, at a contrast of 3 or more.
 * Source: WCAG 2.1, relative luminance and contrast ratio. */
Test(svg, words_are_readable_on_every_colour) {
    for (int kind = 0; kind <= MS_OP_P2P; kind++) {
        for (int chunk = 0; chunk < 4; chunk++) {
            ms_rgb colour = ms_svg_colour((uint8_t)kind, chunk);
            double light = 0.2126 * linear(colour.r) + 0.7152 * linear(colour.g) +
                           0.0722 * linear(colour.b) + 0.05;
            double dark = linear(0x11 / 255.0) + 0.05;
            double contrast = ms_svg_is_light(colour) ? light / dark : 1.05 / light;
            cr_assert_gt(contrast, 3.0, "%s %d: %.2f", ms_op_kind_name((ms_op_kind)kind), chunk,
                         contrast);
        }
    }
}
