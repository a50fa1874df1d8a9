/* Preloaded into the program under test: memory runs out, or the disk is slow or broken.
 *
 * MS_FAIL_AT=N     the N-th allocation of the process fails, counted from main on; forked children
 *                  count on from where their parent was
 * MS_FAIL_LAST=M   and all after it up to the M-th; N when not given
 * MS_FAIL_COUNT=F  the number of allocations so far, as 8 bytes of a file that exists
 * MS_FAIL_READ=N   the N-th pread(), or pread64(), of a process and all after it fail with EIO
 * MS_SYNC_LOG=F    calls of fsync(), or fdatasync(), and rename(), a line each, with the inode; F
 * exists MS_FAIL_SYNC=1   fsync() of a file fails with EIO, of a folder with EINVAL MS_SLOW_READ=T
 * each pread() takes T microseconds more, and for alarm() a second is a minute */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* the C library's own, under its second names */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

typedef int main_function(int, char **, char **);

static uint64_t own_count;
static uint64_t *count = &own_count;
static uint64_t first = UINT64_MAX;
static uint64_t last = UINT64_MAX;
static bool is_on;
static main_function *real_main;

static uint64_t number_of(const char *name, uint64_t fallback) {
    const char *text = getenv(name);
    return text == NULL ? fallback : strtoull(text, NULL, 10);
}

/* ---- memory ---- */

static bool fails(void) {
    if (!is_on) {
        return false;
    }
    uint64_t number = ++*count;
    return number >= first && number <= last;
}

static void *refuse(void) {
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t size) {
    return fails() ? refuse() : __libc_malloc(size);
}

void *calloc(size_t items, size_t size) {
    return fails() ? refuse() : __libc_calloc(items, size);
}

void *realloc(void *memory, size_t size) {
    return fails() ? refuse() : __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return fails() ? refuse() : __libc_memalign(alignment, size);
}

int posix_memalign(void **memory_out, size_t alignment, size_t size) {
    void *memory = fails() ? NULL : __libc_memalign(alignment, size);
    if (memory == NULL) {
        return ENOMEM;
    }
    *memory_out = memory;
    return 0;
}

/* ---- the disk ---- */

ssize_t pread(int file, void *bytes, size_t size, off_t at) {
    static uint64_t reads;
    useconds_t pause_us = (useconds_t)number_of("MS_SLOW_READ", 0);
    if (pause_us > 0) {
        usleep(pause_us);
    }
    if (++reads >= number_of("MS_FAIL_READ", UINT64_MAX)) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pread64, file, bytes, size, at);
}

/* A line for the log: `call` on something that `facts` tells of. */
static void note(const char *call, const struct stat *facts) {
    const char *path = getenv("MS_SYNC_LOG");
    int log = path == NULL ? -1 : open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (log >= 0) {
        dprintf(log, "%s %s %llu\n", call, S_ISDIR(facts->st_mode) ? "folder" : "file",
                (unsigned long long)facts->st_ino);
        close(log);
    }
}

int fsync(int file) {
    struct stat facts = {0};
    (void)fstat(file, &facts);
    note("fsync", &facts);
    if (number_of("MS_FAIL_SYNC", 0) > 0) {
        errno = S_ISDIR(facts.st_mode) ? EINVAL : EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, file);
}

/* What SQLite calls. */
int fdatasync(int file) {
    return fsync(file);
}

ssize_t pread64(int file, void *bytes, size_t size, off64_t at) {
    return pread(file, bytes, size, at);
}

int rename(const char *from, const char *to) {
    struct stat facts = {0};
    (void)stat(from, &facts);
    note("rename", &facts);
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

unsigned alarm(unsigned seconds) {
    bool is_slow = number_of("MS_SLOW_READ", 0) > 0;
    unsigned seconds_now = is_slow && seconds > 0 ? (seconds + 59) / 60 : seconds;
    const struct itimerval time = {.it_value = {.tv_sec = seconds_now}};
    setitimer(ITIMER_REAL, &time, NULL);
    return 0;
}

/* ---- the start ---- */

static int counted_main(int words, char **argv, char **environment) {
    first = number_of("MS_FAIL_AT", UINT64_MAX);
    last = number_of("MS_FAIL_LAST", first);
    const char *path = getenv("MS_FAIL_COUNT");
    int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (file >= 0) {
        void *shared = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        count = shared == MAP_FAILED ? &own_count : shared;
        close(file);
    }
    is_on = true;
    int code = real_main(words, argv, environment);
    is_on = false; /* what others do at the end is theirs */
    return code;
}

/* What calls main; what it is handed beside goes on to the C library's. */
int __libc_start_main(main_function *program, int words, char **argv, ...) {
    typedef int start_function(main_function *, int, char **, ...);
    start_function *start = NULL;
    void *found = dlsym(RTLD_NEXT, "__libc_start_main");
    memcpy(&start, &found, sizeof start);
    real_main = program;
    void *rest[4]; /* init, fini, rtld_fini, stack_end */
    va_list args;
    va_start(args, argv);
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++) {
        rest[i] = va_arg(args, void *);
    }
    va_end(args);
    return start(counted_main, words, argv, rest[0], rest[1], rest[2], rest[3]);
}
