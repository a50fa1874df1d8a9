#include "base/config/ranges.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* The number at *text, which then stands behind it; -1 if there is none below `limit`. */
static int take_number(char **text, int limit) {
    if (!isdigit((unsigned char)**text)) {
        return -1;
    }
    long number = strtol(*text, text, 10);
    return number < limit ? (int)number : -1;
}

int ms_ranges_read(const char *text, int limit, int *numbers_out) {
    char *at = (char *)(uintptr_t)text; /* as strtol asks for it; nothing is written */
    int count = 0;
    for (bool is_last = false; !is_last; at++) {
        int first = take_number(&at, limit);
        int last = first;
        if (first >= 0 && *at == '-') {
            at++;
            last = take_number(&at, limit);
        }
        if (last < first || first < 0 || (*at != ',' && *at != '\0') ||
            last - first >= limit - count) {
            return -1;
        }
        for (int number = first; number <= last; number++, count++) {
            if (numbers_out != NULL) {
                numbers_out[count] = number;
            }
        }
        is_last = *at == '\0';
    }
    return count;
}
