/* The shipped workloads: who tests all of them needs no list to keep. */
#ifndef MESHSIM_TESTS_WORKLOAD_NAMES_H
#define MESHSIM_TESTS_WORKLOAD_NAMES_H

#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

enum { WORKLOADS_MAX = 64 };

typedef struct workload_name {
    char text[48]; /* such as "tiny" */
} workload_name;

/* All of workloads/, in the order of their names. names: [WORKLOADS_MAX]. Returns how many. */
static inline size_t find_workloads(workload_name *names) {
    glob_t found;
    cr_assert_eq(glob(MS_SOURCE_DIR "/workloads/*.yaml", 0, NULL, &found), 0);
    size_t count = found.gl_pathc;
    cr_assert(count >= 10 && count <= WORKLOADS_MAX, "%zu", count);
    for (size_t i = 0; i < count; i++) {
        const char *file = strrchr(found.gl_pathv[i], '/') + 1;
        snprintf(names[i].text, sizeof names[i].text, "%.*s", (int)strcspn(file, "."), file);
    }
    globfree(&found);
    return count;
}

#endif
