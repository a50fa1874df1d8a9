#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "meshsim/arena.h"

enum { PLACE_B = 1 << 20, LINE_B = 4096 };

/* What the system keeps of the addresses around a place: its flags, in two letters each. */
static void read_flags(const void *place, char flags_out[LINE_B]) {
    char line[LINE_B];
    bool is_here = false;
    FILE *file = fopen("/proc/self/smaps", "r");
    cr_assert_not_null(file);
    *flags_out = '\0';
    while (*flags_out == '\0' && fgets(line, sizeof line, file) != NULL) {
        unsigned long first, end;
        if (sscanf(line, "%lx-%lx ", &first, &end) == 2) {
            is_here = (uintptr_t)place >= first && (uintptr_t)place < end;
        } else if (is_here && strncmp(line, "VmFlags:", 8) == 0) {
            snprintf(flags_out, LINE_B, "%s", line);
        }
    }
    fclose(file);
}

/* What comes from the heap afterwards lies where the system was asked for large pages. */
Test(heap, large_pages_are_asked_for) {
    char flags[LINE_B];
    ms_heap_use_large_pages();
    char *end = sbrk(0);
    char *place = malloc(PLACE_B);
    cr_assert_not_null(place);
    bool is_in_heap = place < end && end - place < 1 << 30;
    if (!is_in_heap || access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) {
        free(place); /* another allocator, or a system without large pages: nothing to ask */
        return;
    }
    read_flags(place + PLACE_B - 1, flags); /* its beginning may be older */
    cr_assert_not_null(strstr(flags, " hg"), "%s", flags);
    free(place);
}

/* What was set aside serves: a block makes the heap grow no further. */
Test(heap, later_growth_is_as_small_as_before) {
    ms_heap_use_large_pages();
    char *before = sbrk(0);
    void *place = malloc(PLACE_B);
    cr_assert_not_null(place);
    cr_assert_eq((char *)sbrk(0), before);
    free(place);
}
