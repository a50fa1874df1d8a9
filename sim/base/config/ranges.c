/* Reads lists such as "0-7,12" (ranges.h), which users write for nodes, ranks and GPUs. */
#include "base/config/ranges.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Read a number and move *text behind it; -1 if there is none, or one that is not below `limit`. */
static int read_number(char **text, int limit) {
    if (!isdigit((unsigned char)**text)) {
        return -1;
    }
    long number = strtol(*text, text, 10);
    return number < limit ? (int)number : -1;
}

/* Each turn of the loop reads one number or range and the comma or the end behind it. */
int ms_ranges_read(const char *text, int limit, int *numbers_out) {
    char *at = (char *)(uintptr_t)text; /* strtol's type of end pointer; nothing is written */
    int count = 0;
    for (bool is_last = false; !is_last; at++) {
        int first = read_number(&at, limit);
        int last = first;
        if (first >= 0 && *at == '-') {
            at++;
            last = read_number(&at, limit);
        }
        /* the last test: the range would exceed `limit` numbers in all */
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
