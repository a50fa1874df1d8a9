/* Sorting the links of a flow: short lists by insertion, long ones by qsort. */
#include <criterion/criterion.h>

#include "base/random.h"
#include "collective/crossings.h"

enum { LINKS_MAX = 3000 };

Test(flow_links, sort_by_number) {
    static ms_flow_link links[LINKS_MAX];
    static const int COUNTS[] = {0, 1, 2, 23, 24, 25, 300, LINKS_MAX};
    static const int32_t RANGES[] = {2, 200, 70000, INT32_MAX};
    for (int i = 0; i < 8 * 4; i++) {
        int count = COUNTS[i % 8];
        for (int k = 0; k < count; k++) {
            uint64_t bits = ms_random_mix((uint64_t)(i * LINKS_MAX + k));
            links[k].link = (int32_t)(bits % (uint64_t)RANGES[i / 8]);
            links[k].weight = k; /* where it stood */
        }
        ms_flow_links_sort(links, (size_t)count);
        bool has_stood[LINKS_MAX] = {false};
        for (int k = 0; k < count; k++) {
            cr_assert(!has_stood[(int)links[k].weight], "%d links", count);
            has_stood[(int)links[k].weight] = true;
        }
        for (int k = 1; k < count; k++) {
            cr_assert(links[k - 1].link <= links[k].link, "%d links of %d: at %d", count,
                      RANGES[i / 8], k);
        }
    }
}
