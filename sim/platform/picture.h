/* What the pictures and exports of all fabrics share. */
#ifndef MS_PLATFORM_PICTURE_H
#define MS_PLATFORM_PICTURE_H

#include "meshsim/platform.h"

/* A name inside a quoted Graphviz label. */
void ms_platform_dot_name(const char *name, ms_buffer *out);

/* Start a picture of so many pixels in the look of the other pictures: page, title, subtitle. */
enum {
    MS_PICTURE_WIDTH = 1000,
    MS_PICTURE_LEFT = 210,  /* where the drawing begins, right of what its tiers are */
    MS_PICTURE_LETTERS = 12 /* their size */
};
void ms_platform_svg_head(const ms_platform *platform, int height, ms_buffer *out);

/* Size of letters, at most `wanted`, at which so many fit into a width [px]; below 6.5 none are
 * readable. */
double ms_platform_svg_fit(double wanted, size_t letters, double width);

/* A line of text that ends before `right`.  at: x and y of its start.  look: further attributes. */
void ms_platform_svg_line(ms_buffer *out, const double at[2], double right, const char *look,
                          const char *text);

/* What a tier is: name and links, below them bandwidth and latency of a link, left of the drawing.
 */
void ms_platform_svg_tier(const ms_platform *platform, int tier, double y, ms_buffer *out);

/* Fills of core, spine and leaf switches, nodes, and what joins the GPUs of a node: the palette of
 * the other pictures, halfway to white, under black letters. */
#define MS_FILL_CORE   "#f3cf80"
#define MS_FILL_SPINE  "#80cfb9"
#define MS_FILL_LEAF   "#abdaf4"
#define MS_FILL_NODE   "#f2f2f2"
#define MS_FILL_INSIDE "#e6bcd3"
/* Nodes and chips without a rank. */
#define MS_FILL_IDLE   "#ffffff"
#define MS_FILL_SPARE  "#eaae80"

/* How many GPUs a job uses, leaves idle and keeps as spares, with their fills; nothing without
 * uses.  used_fill: of GPUs with a rank.  y: of the line of text. */
void ms_platform_svg_legend(const ms_platform *platform, const uint8_t *uses, const char *used_fill,
                            int y, ms_buffer *out);

/* A directed route of the SimGrid description between two vertices.  link: -1 for none.  steps: how
 * many `step` links stand before it. */
enum { MS_XML_NAME_SIZE = 96 };
typedef struct ms_xml_edge {
    char from[MS_XML_NAME_SIZE], to[MS_XML_NAME_SIZE];
    int link;
    int steps;
} ms_xml_edge;
void ms_xml_write_edge(const ms_platform *platform, const ms_xml_edge *e, ms_buffer *out);

#endif
