/* Picture of a platform: what every fabric has in common. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "meshsim/units.h"
#include "meshsim/value.h"
#include "platform/fabric.h"
#include "platform/picture.h"

/* Mean width of a letter at size 1, rather more than that of the fonts named below. */
static const double LETTER_WIDTH = 0.6;

double ms_platform_svg_fit(double wanted, size_t letters, double width) {
    double most = letters == 0 ? wanted : width / (LETTER_WIDTH * (double)letters);
    return most < wanted ? floor(2.0 * most) / 2.0 : wanted;
}

void ms_platform_svg_line(ms_buffer *out, const double at[2], double right, const char *look,
                          const char *text) {
    double size = ms_platform_svg_fit(MS_PICTURE_LETTERS, strlen(text), right - at[0]);
    ms_buffer_printf(out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%g\"%s>", at[0], at[1], size,
                     look);
    ms_xml_write_text(out, text);
    ms_buffer_puts(out, "</text>\n");
}

void ms_platform_svg_tier(const ms_platform *platform, int tier, double y, ms_buffer *out) {
    const ms_tier *facts = &platform->tiers[tier];
    ms_link_info link = ms_platform_link(platform, facts->first_link);
    char speed[64], delay[64], line[192];
    ms_tier_bandwidth_text(facts, link.capacity_Bps, speed, sizeof speed);
    ms_unit_format(facts->latency_s, MS_DIM_TIME, delay, sizeof delay);
    snprintf(line, sizeof line, "%s: %d links", facts->name, facts->links);
    ms_platform_svg_line(out, (const double[]){16, y}, MS_PICTURE_LEFT - 4, " font-weight=\"bold\"",
                         line);
    snprintf(line, sizeof line, "%s a link, %s", speed, delay);
    ms_platform_svg_line(out, (const double[]){16, y + 16}, MS_PICTURE_LEFT - 4, " fill=\"#444\"",
                         line);
}

void ms_platform_svg_head(const ms_platform *platform, int height, ms_buffer *out) {
    char title[320];
    int links = 0;
    for (int tier = 0; tier < platform->tier_count; tier++) {
        links += platform->tiers[tier].links;
    }
    snprintf(title, sizeof title, "%s: %d nodes of %d x %s", platform->name, platform->nodes,
             platform->gpus_per_node, platform->gpu.name);
    ms_buffer_printf(out,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" "
                     "height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"Helvetica, Arial, "
                     "'DejaVu Sans', sans-serif\" fill=\"#111\">\n"
                     "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
                     "<text x=\"16\" y=\"26\" font-size=\"%g\" font-weight=\"bold\">",
                     (int)MS_PICTURE_WIDTH, height, (int)MS_PICTURE_WIDTH, height,
                     ms_platform_svg_fit(18.0, strlen(title), MS_PICTURE_WIDTH - 32));
    ms_xml_write_text(out, title);
    ms_buffer_printf(out,
                     "</text>\n<text x=\"16\" y=\"46\" font-size=\"13\" fill=\"#444\">%d GPUs "
                     "\xc2\xb7 %d links</text>\n",
                     ms_platform_gpus(platform), links);
}

void ms_platform_svg_legend(const ms_platform *platform, const uint8_t *uses, const char *used_fill,
                            int y, ms_buffer *out) {
    static const char *const WORDS[] = {"with a rank", "idle", "spare"};
    const char *fills[] = {used_fill, MS_FILL_IDLE, MS_FILL_SPARE};
    int counts[3] = {0};
    for (int gpu = 0; uses != NULL && gpu < ms_platform_gpus(platform); gpu++) {
        counts[uses[gpu]]++;
    }
    for (int i = 0; uses != NULL && i < 3; i++) {
        int x = MS_PICTURE_LEFT + i * 220;
        ms_buffer_printf(out,
                         "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\" "
                         "stroke=\"#999\"/>\n<text x=\"%d\" y=\"%d\" font-size=\"%d\">%d GPU%s "
                         "%s</text>\n",
                         x, y - 11, fills[i], x + 18, y, (int)MS_PICTURE_LETTERS, counts[i],
                         counts[i] == 1 ? "" : "s", WORDS[i]);
    }
}

void ms_platform_write_svg(const ms_platform *platform, const uint8_t *uses, ms_buffer *out) {
    platform->topology->kind->write_svg(platform, uses, out);
}
