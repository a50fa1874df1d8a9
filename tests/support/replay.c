/* Stands in for libFuzzer in builds without it: hands each file named on the command line, and each
 * file of a folder named there, to the fuzz target once. So every kept input is a test with every
 * compiler. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static long replayed = 0;

static int replay_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return 1;
    }
    size_t size = 0;
    size_t capacity = 1 << 16;
    uint8_t *data = malloc(capacity);
    while (data != NULL && !feof(file) && !ferror(file)) {
        if (size == capacity) {
            capacity *= 2;
            uint8_t *grown = realloc(data, capacity);
            if (grown == NULL) {
                free(data);
            }
            data = grown;
            continue;
        }
        size += fread(data + size, 1, capacity - size, file);
    }
    fclose(file);
    if (data == NULL) {
        return 1;
    }
    /* exactly as large as the input, so that a read past its end is seen */
    uint8_t *exact = malloc(size > 0 ? size : 1);
    if (exact != NULL) {
        memcpy(exact, data, size);
        LLVMFuzzerTestOneInput(exact, size);
        replayed++;
    }
    free(exact);
    free(data);
    return exact == NULL;
}

static int replay(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0) {
        perror(path);
        return 1;
    }
    if (!S_ISDIR(status.st_mode)) {
        return replay_file(path);
    }
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, alphasort);
    int failed = count < 0;
    for (int i = 0; i < count; i++) {
        char inner[4096];
        int length = snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.') {
            failed |= length >= (int)sizeof inner || replay(inner);
        }
        free(entries[i]);
    }
    free(entries);
    return failed;
}

int main(int argc, char **argv) {
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        failed |= replay(argv[i]);
    }
    printf("%ld inputs replayed\n", replayed);
    return failed || replayed == 0;
}
