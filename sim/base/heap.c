/* The heap of a program that lives for some milliseconds. */
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "meshsim/arena.h"

/* Addresses that are set aside at once, what the heap grows by beyond them (the C library's own
 * figure), and sizes from which memory comes from the system and goes back to it at once. */
enum { RESERVED_B = 64 << 20, GROWTH_B = 128 << 10, OWN_B = 8 << 20, RETURNED_B = 256 << 20 };

void ms_heap_use_large_pages(void) {
    char *before = sbrk(0);
    mallopt(M_MMAP_THRESHOLD, OWN_B);
    mallopt(M_TRIM_THRESHOLD, RETURNED_B);
    mallopt(M_TOP_PAD, RESERVED_B);
    char *volatile more = malloc(mallinfo2().fordblks + GROWTH_B); /* than is free: it grows */
    free(more);
    mallopt(M_TOP_PAD, GROWTH_B);
    uintptr_t page_B = (uintptr_t)sysconf(_SC_PAGESIZE);
    char *first = before + (page_B - (uintptr_t)before % page_B) % page_B;
    char *end = sbrk(0);
    if (first < end) {
        madvise(first, (size_t)(end - first), MADV_HUGEPAGE); /* where the system has none: none */
    }
}
