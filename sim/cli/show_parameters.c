#include "cli/show_parameters.h"

#include <stdio.h>

/* Biases of the head are counted with it, tied or not. */
static double untied(const ms_model *model, const ms_parameter_parts *parts) {
    return parts->total + (model->has_tied_embeddings ? parts->head : 0);
}

void ms_show_add_parameters(const ms_model *model, ms_value *root) {
    const ms_parameter_parts parts = ms_model_parameter_parts(model);
    ms_value *counts = ms_value_add(root, "parameters", MS_VALUE_OBJECT);
    ms_value_add_double(counts, "total", parts.total);
    ms_value_add_double(counts, "active", parts.active);
    ms_value_add_double(counts, "total_without_mtp", parts.total - parts.modules);
    ms_value_add_double(counts, "active_without_mtp", parts.active - parts.active_modules);
    ms_value_add_double(counts, "total_tied", untied(model, &parts) - parts.head);
    ms_value_add_double(counts, "total_untied", untied(model, &parts));
    ms_value_add_double(counts, "embedding", parts.embedding);
    ms_value_add_double(counts, "head", parts.head);
}

/* A count of parameters as people say it, such as "174.6 billion". */
static const char *count_text(double count, char *text, size_t size) {
    static const struct {
        double scale;
        const char *word;
    } SCALES[] = {{1e12, " trillion"}, {1e9, " billion"}, {1e6, " million"}, {1.0, ""}};
    size_t i = 0;
    while (i + 1 < sizeof SCALES / sizeof SCALES[0] && count < SCALES[i].scale) {
        i++;
    }
    snprintf(text, size, "%.4g%s", count / SCALES[i].scale, SCALES[i].word);
    return text;
}

static void add_count(double total, double active, ms_buffer *page) {
    char text[32];
    ms_buffer_printf(page, "%s parameters", count_text(total, text, sizeof text));
    if (active < total) {
        ms_buffer_printf(page, ", %s of them active", count_text(active, text, sizeof text));
    }
}

void ms_show_parameters(const ms_model *model, ms_buffer *page) {
    const ms_parameter_parts parts = ms_model_parameter_parts(model);
    ms_buffer_puts(page, "model      ");
    add_count(parts.total, parts.active, page);
    ms_buffer_printf(page, ", %d layers\n", model->layers);
    if (parts.modules > 0) {
        ms_buffer_puts(page, "           without prediction modules\n           ");
        add_count(parts.total - parts.modules, parts.active - parts.active_modules, page);
        ms_buffer_puts(page, "\n");
    }
    if (model->has_tied_embeddings && parts.head > 0) {
        char text[32];
        ms_buffer_printf(page, "           the head's %s are the embedding's, counted once\n",
                         count_text(parts.head, text, sizeof text));
    }
}
