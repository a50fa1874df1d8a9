/* Graphviz picture of a platform: what every fabric has in common. */
#include <math.h>
#include <stdio.h>

#include "meshsim/text.h"
#include "meshsim/units.h"
#include "platform/fabric.h"
#include "platform/picture.h"

/* A name as part of a quoted label or a comment: quotes and backslashes escaped, on one line. */
void ms_platform_dot_name(const char *name, ms_buffer *out) {
    while (*name != '\0') {
        uint32_t code = 0;
        size_t length = ms_text_decode(name, SIZE_MAX, &code);
        bool is_seen = length > 0 && ms_text_is_seen(code);
        ms_buffer_puts(out, code == '"' || code == '\\' ? "\\" : "");
        ms_buffer_add(out, is_seen ? name : "?", is_seen ? length : 1);
        name += length == 0 ? 1 : length;
    }
}

char *ms_tier_bandwidth_text(const ms_tier *tier, double value_Bps, char *text_out, size_t size) {
    if (isinf(value_Bps)) {
        snprintf(text_out, size, "unlimited");
        return text_out;
    }
    return tier->is_in_bits ? ms_unit_format_bits(value_Bps, text_out, size)
                            : ms_unit_format(value_Bps, MS_DIM_BANDWIDTH, text_out, size);
}

void ms_platform_write_dot(const ms_platform *platform, ms_buffer *out) {
    ms_buffer_puts(out, "// ");
    ms_platform_dot_name(platform->name, out);
    ms_buffer_printf(out, ": %d nodes, %d GPUs; bandwidths are achieved ones, per direction\n",
                     platform->nodes, ms_platform_gpus(platform));
    ms_buffer_puts(out, "graph platform {\n  rankdir=BT;\n  node [fontname=\"sans-serif\"];\n"
                        "  edge [fontname=\"sans-serif\", fontsize=9];\n");
    platform->topology->kind->write_dot(platform, out);
    ms_buffer_puts(out, "}\n");
}
