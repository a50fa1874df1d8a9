/* What the readers of measured runs share. */
#include "study/cases_file.h"

#include <string.h>

bool ms_cases_is_null(const ms_node *node) {
    const char *text = node->type == MS_NODE_SCALAR && !node->is_quoted ? node->text : NULL;
    return text != NULL && (text[0] == '\0' || strcmp(text, "null") == 0 || strcmp(text, "~") == 0);
}
