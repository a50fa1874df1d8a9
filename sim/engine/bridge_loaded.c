/* SimGrid's side of the bridge where it is a module that is opened when it is needed: in the
 * program. It stands beside the program in a build, in the library folder once that is installed;
 * a program that was copied elsewhere finds that of its build. MESHSIM_MODULES in the environment
 * names another folder, and then no other is looked at.
 *
 * CMake defines MESHSIM_MODULE (its file name), MESHSIM_MODULE_FROM_BIN (the installed folder, as
 * seen from the installed program) and MESHSIM_MODULE_BUILT (the folder it was built in). */
#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/bridge_table.h"
#include "meshsim/failure.h"
#include "meshsim/usage.h"

enum { STAND_IN_MAX = 32 };

/* The module's file.  Returns whether there is one, or one was asked for; if not, path_out says
 * where it was looked for. */
static bool find_module(char *path_out, size_t size) {
    char own[PATH_MAX];
    const char *given = getenv("MESHSIM_MODULES");
    if (given != NULL && *given != '\0') {
        snprintf(path_out, size, "%s/%s", given, MESHSIM_MODULE);
        return true;
    }
    if (!ms_program_folder(own, sizeof own)) {
        snprintf(own, sizeof own, ".");
    }
    const char *const folders[][2] = {
        {own, ""}, {own, "/" MESHSIM_MODULE_FROM_BIN}, {MESHSIM_MODULE_BUILT, ""}};
    enum { FOLDERS = sizeof folders / sizeof folders[0] };
    for (int i = 0; i < FOLDERS; i++) {
        snprintf(path_out, size, "%s%s/%s", folders[i][0], folders[i][1], MESHSIM_MODULE);
        if (ms_file_is_there(path_out)) {
            return true;
        }
    }
    snprintf(path_out, size, "no %s in %s, %s/%s or %s", MESHSIM_MODULE, own, own,
             MESHSIM_MODULE_FROM_BIN, MESHSIM_MODULE_BUILT);
    return false;
}

/* What runs while a module is loaded has no cause to crash but lack of memory, which SimGrid's
 * start-up code does not look for. */
static const int CRASHES[] = {SIGABRT, SIGSEGV, SIGBUS};
enum { CRASH_COUNT = sizeof CRASHES / sizeof CRASHES[0] };

static void on_crash(int number) {
    static const char TEXT[] = "meshsim: error: out of memory while loading SimGrid\n";
    (void)number;
    ssize_t written = write(STDERR_FILENO, TEXT, sizeof TEXT - 1);
    _exit(written < 0 ? ms_status_exit_code(MS_E_IO) : ms_status_exit_code(MS_E_NOMEM));
}

/* RTLD_DEEPBIND where memory comes from the C library's allocator, else 0. SimGrid and what it
 * stands on then bind their 43,000 names among themselves first, in half the time: the program's
 * own libraries are in front otherwise. Beside an allocator of somebody else's (preloaded, or a
 * sanitizer's) they would free by the C library's what that library got from the other. */
static int own_names_first(void) {
    Dl_info allocator, library;
    void *malloc_at = dlsym(RTLD_DEFAULT, "malloc");
    void *library_at = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    bool is_known = malloc_at != NULL && library_at != NULL && dladdr(malloc_at, &allocator) != 0 &&
                    dladdr(library_at, &library) != 0;
    return is_known && allocator.dli_fbase == library.dli_fbase ? RTLD_DEEPBIND : 0;
}

/* Open what stands beside the module in for libraries that SimGrid is linked with and does not need
 * here: the loader takes what it has under a library's name.  Returns how many; stand_ins_out gets
 * their handles. */
static int open_stand_ins(const char *module, void *stand_ins_out[STAND_IN_MAX]) {
    char path[5 * PATH_MAX];
    int folder_length = (int)(strrchr(module, '/') - module);
    for (int i = 0; i < STAND_IN_MAX; i++) {
        snprintf(path, sizeof path, "%.*s/meshsim-stand-in-%d.so", folder_length, module, i);
        stand_ins_out[i] = ms_file_is_there(path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
        if (stand_ins_out[i] == NULL) {
            return i;
        }
    }
    return STAND_IN_MAX;
}

/* Open the module, lazily, as the system would load what SimGrid stands on.  A SimGrid that takes
 * more from a library than its stand-in has, as the one of another build would, gets the library.
 */
static void *open_with_stand_ins(const char *path) {
    void *stand_ins[STAND_IN_MAX];
    int mode = RTLD_LAZY | RTLD_LOCAL | own_names_first();
    int count = open_stand_ins(path, stand_ins);
    void *module = dlopen(path, mode);
    if (module == NULL && count > 0) {
        while (count > 0) {
            dlclose(stand_ins[--count]);
        }
        module = dlopen(path, mode);
    }
    return module;
}

static void *open_module(const char *path) {
    /* a library that asks for memory again and again as it gets none runs out of stack, too */
    static unsigned char own_stack[1 << 16];
    const stack_t crash_stack = {.ss_sp = own_stack, .ss_size = sizeof own_stack};
    stack_t stack_before;
    struct sigaction before[CRASH_COUNT];
    struct sigaction crash = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK};
    sigaltstack(&crash_stack, &stack_before);
    for (int i = 0; i < CRASH_COUNT; i++) {
        sigaction(CRASHES[i], &crash, &before[i]);
    }
    void *module = open_with_stand_ins(path); /* to the end of the process */
    for (int i = 0; i < CRASH_COUNT; i++) {
        sigaction(CRASHES[i], &before[i], NULL);
    }
    sigaltstack(&stack_before, NULL);
    return module;
}

/* Whether the loader lacked memory, by its own words (glibc's elf/): what it cannot create or
 * allocate are its own lists. */
static bool is_lack_of_memory(const char *why) {
    return why == NULL || strstr(why, "memory") != NULL || strstr(why, "cannot create") != NULL ||
           strstr(why, "cannot allocate") != NULL;
}

const ms_bridge_table *ms_bridge_open(char *cause_out, size_t size) {
    char path[4 * PATH_MAX];
    if (!find_module(path, sizeof path)) {
        snprintf(cause_out, size, "%s", path);
        return NULL;
    }
    void *module = open_module(path);
    const ms_bridge_table *table = module == NULL ? NULL : dlsym(module, "ms_bridge_simgrid");
    if (table == NULL) {
        const char *why = dlerror();
        snprintf(cause_out, size, "%s", is_lack_of_memory(why) ? "out of memory" : why);
        return NULL;
    }
    if (table->layout != MS_BRIDGE_LAYOUT) {
        snprintf(cause_out, size, "'%s' is of another version of meshsim", path);
        return NULL;
    }
    return table;
}
