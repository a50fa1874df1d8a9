/* Rules of the file of types: how a key of a config changes the traits of its type, or makes the
 * config one that is refused. The head of workloads/families/hugging-face.yaml says what the
 * members of a rule mean. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "model/hf/hf.h"

/* A rule as the file has it; traits, without, with and unless are MS_HF_ bits. */
typedef struct rule {
    const char *key, *gives, *is, *is_not, *refuse;
    unsigned traits, without, with, unless;
} rule;

static const ms_field RULE_FIELDS[] = {
    MS_KEY("key", NULL, STRING, offsetof(rule, key), .is_required = true),
    MS_KEY("gives", NULL, STRING, offsetof(rule, gives)),
    MS_KEY("is", NULL, STRING, offsetof(rule, is), .fallback = "true"),
    MS_KEY("is_not", NULL, STRING, offsetof(rule, is_not)),
    MS_KEY("refuse", NULL, STRING, offsetof(rule, refuse)),
    MS_KEY("traits", NULL, FLAGS, offsetof(rule, traits), .words = MS_HF_TRAITS),
    MS_KEY("without", NULL, FLAGS, offsetof(rule, without), .words = MS_HF_TRAITS),
    MS_KEY("with", NULL, FLAGS, offsetof(rule, with), .words = MS_HF_TRAITS),
    MS_KEY("unless", NULL, FLAGS, offsetof(rule, unless), .words = MS_HF_TRAITS),
    {.key = NULL},
};

/* Whether the config's value of the rule's key is a number other than `is_not`, which is a number
 * or the name of another key of the config (0 if the config lacks that one). Counts the rule's key
 * as used. */
static bool differs(ms_hf_reader *r, const rule *one) {
    bool is_number = strspn(one->is_not, "0123456789") > 0;
    int wanted = is_number ? atoi(one->is_not) : 0, value = 0;
    if (!is_number) {
        (void)ms_hf_int(r, one->is_not, &wanted);
    }
    (void)ms_hf_take(r, one->key, one->gives);
    return ms_hf_int(r, one->key, &value) && value != wanted;
}

/* Whether a rule applies: the model has the traits that the rule wants, and the rule's key has the
 * value that it wants. In a model with these traits the key counts as used whatever its value,
 * unless the rule wants its absence. */
static bool applies(ms_hf_reader *r, const rule *one) {
    bool is_true = false;
    if ((r->traits & one->with) != one->with || (r->traits & one->unless) != 0) {
        return false;
    }
    if (strcmp(one->is, "absent") == 0) {
        return ms_hf_look(r, one->key) == NULL;
    }
    if (one->is_not != NULL) {
        return differs(r, one);
    }
    (void)ms_hf_take(r, one->key, one->gives);
    (void)ms_hf_flag(r, one->key, &is_true);
    return is_true == (strcmp(one->is, "true") == 0);
}

/* Report a rule's message. A key's name in braces is replaced by the key's value. */
static void refuse(ms_hf_reader *r, const rule *one) {
    const char *message = "", *rest = one->refuse;
    for (const char *open = strchr(rest, '{'); open != NULL; open = strchr(rest, '{')) {
        size_t length = strcspn(open + 1, "}");
        const char *key = ms_arena_strndup(r->arena, open + 1, length);
        message = ms_arena_printf(r->arena, "%s%.*s%s", message, (int)(open - rest), rest,
                                  ms_hf_text(key == NULL ? NULL : ms_hf_look(r, key)));
        rest = open + 1 + length + (open[1 + length] == '}');
        message = message == NULL ? "" : message;
    }
    const ms_node *node = ms_hf_take(r, one->key, one->gives);
    ms_hf_fault(r, node == NULL ? r->config : node, one->key, "%s%s", message, rest);
}

/* Apply rules in their order: each can change the traits that later rules see. */
void ms_hf_apply_rules(ms_hf_reader *r, const ms_node *rules) {
    for (const ms_node *node = ms_hf_first(rules); node != NULL; node = node->next) {
        rule one = {.key = NULL};
        ms_status status = ms_config_read(node, RULE_FIELDS, "rules", &one, r->arena, r->diag);
        if (status != MS_OK) {
            r->status = r->status == MS_OK ? status : r->status;
        } else if (applies(r, &one)) {
            r->traits = (r->traits | one.traits) & ~one.without;
            if (one.refuse != NULL) {
                refuse(r, &one);
            }
        }
    }
}
