/* Files that tests write. */
#ifndef MS_TEXT_FILE_H
#define MS_TEXT_FILE_H

#include <criterion/criterion.h>
#include <stdio.h>

/** Write FOLDER/NAME. */
static inline void write_text(const char *folder, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

#endif
