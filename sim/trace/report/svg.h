/* Parts of SVG that all pictures share: colours, coordinates, ticks of axes. */
#ifndef MS_REPORT_SVG_H
#define MS_REPORT_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* A colour. */
typedef struct ms_rgb {
    double r, g, b; /* 0..1 */
} ms_rgb;

/* Shade, in place of a chunk, for communication of other ranks for which a rank waits. */
#define MS_SVG_FOREIGN 2

/* Colour of an operation kind (ms_op_kind); the higher `chunk`, the paler. Source: Okabe and Ito,
 * Color Universal Design (2008), eight colours that people with any colour vision tell apart. */
ms_rgb ms_svg_colour(uint8_t kind, int chunk);
/* Whether dark text is easier to read on a colour than white text. */
bool ms_svg_is_light(ms_rgb colour);
/* Write a colour such as "#56b4e9".  Returns text_out. */
const char *ms_svg_hex(ms_rgb colour, char text_out[8]);

/* A coordinate, rounded to a tenth of a pixel. */
double ms_svg_round(double pixels);

/* Distance of round ticks (1, 2 or 5 times a power of ten) so that at most `most` fit a range. */
double ms_svg_tick(double range, int most);
/* Decimals that the numbers of ticks at this distance need. */
int ms_svg_decimals(double tick);

#endif
