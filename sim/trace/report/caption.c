/* Makes the captions of stacked pictures (caption.h) from the differences of two traces' inputs. */
#include "trace/report/caption.h"

#include <string.h>

/* Length from which on no further difference is listed, about the width of a picture; and length at
 * which a value, such as a line of a schedule, is cut [bytes]. */
enum { LINE_B = 110, VALUE_B = 28 };

ms_status ms_caption_keep(const ms_trace *trace, ms_arena *arena, ms_trace *kept_out) {
    const struct {
        const char *from;
        const char **to;
    } TEXTS[] = {{trace->path, &kept_out->path},
                 {trace->inputs.workload, &kept_out->inputs.workload},
                 {trace->inputs.platform, &kept_out->inputs.platform},
                 {trace->inputs.schedule, &kept_out->inputs.schedule},
                 {trace->inputs.placement, &kept_out->inputs.placement}};
    *kept_out = (ms_trace){.path = NULL};
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        *TEXTS[i].to = TEXTS[i].from == NULL ? NULL : ms_arena_strdup(arena, TEXTS[i].from);
    }
    return arena->has_failed ? MS_E_NOMEM : MS_OK;
}

const char *ms_caption_short(const char *name) {
    const char *slash = strncmp(name, "csv:", 4) == 0 ? strrchr(name, '/') : NULL;
    return slash == NULL ? name : slash + 1;
}

/* Append a value, cut to VALUE_B.  value: a text; NULL: the key is at its default. */
static void add_value(const ms_value *value, ms_buffer *line) {
    const char *text = value == NULL ? "the default" : ms_caption_short(value->as.string);
    size_t length = strlen(text);
    bool is_long = length > VALUE_B;
    length = is_long ? VALUE_B : length;
    while (is_long && length > 0 && ((unsigned char)text[length] & 0xC0U) == 0x80U) {
        length--; /* not between the bytes of a UTF-8 character */
    }
    ms_buffer_add(line, text, length);
    ms_buffer_puts(line, is_long ? "..." : "");
}

/* Append the differences for which the line has room, and the number of differences left out. */
static void add_differences(const ms_differences *differences, ms_buffer *line) {
    size_t shown = 0;
    for (; shown < differences->count && line->length < LINE_B; shown++) {
        const ms_difference *one = &differences->items[shown];
        ms_buffer_printf(line, "%s%s ", shown == 0 ? "" : ", ", one->key);
        add_value(one->b, line);
        ms_buffer_puts(line, " in place of ");
        add_value(one->a, line);
    }
    if (shown < differences->count) {
        ms_buffer_printf(line, ", and %zu more", differences->count - shown);
    }
}

ms_status ms_caption_make(const ms_trace *first, const ms_trace *trace, ms_arena *arena,
                          ms_diag *diag, const char **caption_out) {
    ms_differences differences = {.count = 0};
    ms_status status = ms_compare_inputs(first, trace, arena, diag, &differences);
    if (status != MS_OK) {
        return status;
    }
    const char *slash = first->path == NULL ? NULL : strrchr(first->path, '/');
    const char *name = slash == NULL ? first->path : slash + 1;
    ms_buffer line = {0};
    ms_buffer_printf(&line, "against %s: ", name == NULL ? "the first" : name);
    ms_buffer_puts(&line, differences.count == 0 ? "the same input" : "");
    add_differences(&differences, &line);
    *caption_out = ms_buffer_keep(&line, arena);
    return *caption_out == NULL ? MS_E_NOMEM : MS_OK;
}
