/* Sliding windows of a Hugging Face config. The layers with a window follow from a list of layer
 * types, from a pattern (every N-th layer has none), or from the first layer with one. */
#include <string.h>

#include "model/hf/hf.h"

static const char SIZE[] = "sliding_window", TYPES[] = "layer_types";
static const char PATTERN[] = "sliding_window_pattern", FIRST[] = "max_window_layers";
static const char SWITCH[] = "use_sliding_window";

enum { WINDOW_MAX = 1 << 28, LAYERS_MAX = 100000 };

/* The whole number that a key has; -1: none. Where the number is needed, its absence is
 * reported. */
static int number_of(ms_hf_reader *r, const char *key) {
    return ms_hf_whole_of(ms_hf_look(r, key));
}

/* Whether an entry of `layer_types` gives its layer a window; other types than the known ones are
 * reported. Source: Transformers, configuration_utils (ALLOWED_LAYER_TYPES). */
static bool is_windowed(ms_hf_reader *r, const ms_node *entry) {
    const char *type = entry->type == MS_NODE_SCALAR ? entry->text : "";
    bool is_sliding = strcmp(type, "sliding_attention") == 0;
    if (!is_sliding && strcmp(type, "full_attention") != 0 &&
        strcmp(type, "chunked_attention") != 0) {
        ms_hf_fault(r, entry, TYPES,
                    "layers of '%.40s' are not built, expected full_attention or "
                    "sliding_attention",
                    type);
    }
    return is_sliding;
}

/* The rhythm of a list of layer types: N where each N-th layer has no window and all other layers
 * have one; 0: all layers have one; -1: the list has no rhythm, or no layer has a window. */
static int rhythm_of(ms_hf_reader *r, const ms_node *list, int layers) {
    int every = 0, layer = 0;
    bool is_regular = list->count == (size_t)layers, has_one = false;
    for (const ms_node *entry = list->first; entry != NULL; entry = entry->next) {
        bool has_window = is_windowed(r, entry);
        layer++;
        every = every == 0 && !has_window ? layer : every;
        is_regular = is_regular && has_window == (every == 0 || layer % every != 0);
        has_one = has_one || has_window;
    }
    return is_regular && has_one ? every : -1;
}

/* Count a key as used. */
static void mark_used(ms_hf_reader *r, const char *key) {
    (void)ms_hf_take(r, key, NULL);
}

/* Put the window of the model's layers. A list of layer types decides which layers have it; without
 * a list the pattern, then the first layer with a window, then is_usual. A config with the switch
 * off gets no window. every: N where each N-th layer has no window, 0: all layers have one, -1: the
 * model gets no window. */
void ms_hf_put_windows(ms_hf_reader *r, int layers, bool is_usual) {
    const ms_node *list = ms_hf_look(r, TYPES), *is_on = ms_hf_look(r, SWITCH);
    int window = number_of(r, SIZE), pattern = number_of(r, PATTERN), first = number_of(r, FIRST);
    int every = is_usual ? 0 : -1;
    if (list != NULL && list->type == MS_NODE_SEQUENCE) {
        every = rhythm_of(r, list, layers);
        mark_used(r, TYPES);
    } else if (pattern > 1) {
        every = pattern;
    } else if (is_on != NULL && first >= 0) {
        every = first == 0 ? 0 : -1; /* the model has no key for windows from a later layer on */
    }
    bool is_off = is_on != NULL && (is_on->text == NULL || strcmp(is_on->text, "true") != 0);
    if (every < 0 || every > LAYERS_MAX || is_off || ms_hf_look(r, SIZE) == NULL) {
        return;
    }
    if (window < 1 || window > WINDOW_MAX) {
        ms_hf_fault(r, ms_hf_look(r, SIZE), SIZE, "expected a window of 1 to %d tokens, or null",
                    WINDOW_MAX);
        return;
    }
    if (list == NULL) {
        mark_used(r, PATTERN);
        mark_used(r, FIRST);
    }
    mark_used(r, SWITCH);
    ms_hf_put_int(r, "window", ms_hf_take(r, SIZE, NULL), window);
    if (every > 0) {
        ms_hf_put_int(r, "window_skip_freq", NULL, every);
    }
}
