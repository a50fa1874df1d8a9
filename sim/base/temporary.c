/* Temporary files with a lock (temporary.h), named .meshsim.BOOT.RANDOM: BOOT is a part of the
 * kernel's boot id, RANDOM six characters of mkostemp. A sweep removes those whose lock is free. */
#include "base/temporary.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/interrupt.h"

#define PREFIX ".meshsim."
enum { BOOT_LENGTH = 8, RANDOM_LENGTH = 6, BOOT_B = BOOT_LENGTH + 1, TRIES_MAX = 100 };

/* In place of a boot id that is not known, or where files cannot be locked: nobody can tell whether
 * such a file is still being written, so no sweep removes it. */
static const char UNKNOWN_BOOT[BOOT_B] = "00000000";

/* Read the first BOOT_LENGTH hexadecimal digits of the id that the kernel draws when it starts;
 * UNKNOWN_BOOT if the system does not provide it. */
static void read_boot_id(char boot_out[BOOT_B]) {
    char digits[BOOT_B] = "";
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? 0 : read(file, digits, BOOT_LENGTH);
    if (file >= 0) {
        close(file);
    }
    bool is_known = got == BOOT_LENGTH && strspn(digits, "0123456789abcdef") == BOOT_LENGTH;
    memcpy(boot_out, is_known ? digits : UNKNOWN_BOOT, BOOT_B);
}

/* Lock a file until every descriptor of this open file is closed, as the kernel does when a process
 * dies.  Returns false where it cannot: errno says why. flock() does not serve: HDF5 calls it on
 * its files, and would find them locked. */
static bool lock(int file) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(file, F_OFD_SETLK, &whole) == 0;
}

/* Whether the file that a name leads to is still the open file with these facts (device and inode).
 * folder: descriptor of the folder, or AT_FDCWD. */
static bool is_still_named(int folder, const char *name, const struct stat *facts) {
    struct stat found;
    return fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
           found.st_dev == facts->st_dev && found.st_ino == facts->st_ino;
}

/* Between the creation and the lock of a file, another process's sweep may lock and remove the
 * file; the loop then creates another one. On a file system without locks the lock fails with
 * another errno, and the files are named with UNKNOWN_BOOT. */
int ms_temporary_create(const char *folder, char *path_out, size_t size) {
    char boot[BOOT_B];
    read_boot_id(boot);
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        int used = snprintf(path_out, size, "%s/" PREFIX "%s.XXXXXX", folder, boot);
        if (used < 0 || (size_t)used >= size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int file = ms_interrupt_make_file(path_out);
        if (file < 0) {
            return -1;
        }
        struct stat facts;
        bool is_locked = lock(file);
        bool is_swept = !is_locked && (errno == EAGAIN || errno == EACCES);
        if (strcmp(boot, UNKNOWN_BOOT) == 0 ||
            (is_locked && fstat(file, &facts) == 0 && is_still_named(AT_FDCWD, path_out, &facts))) {
            return file;
        }
        /* a sweep has locked or removed the file, or this file system has no locks */
        (void)unlink(path_out);
        ms_interrupt_unguard_file();
        close(file);
        if (!is_locked && !is_swept) {
            memcpy(boot, UNKNOWN_BOOT, BOOT_B);
        }
    }
    errno = EEXIST;
    return -1;
}

/* Whether a file's name is one that ms_temporary_create gives while this kernel runs. */
static bool is_ours(const char *name, const char *boot) {
    size_t prefix = sizeof PREFIX - 1;
    if (strncmp(name, PREFIX, prefix) != 0 || strncmp(name + prefix, boot, BOOT_LENGTH) != 0 ||
        name[prefix + BOOT_LENGTH] != '.') {
        return false;
    }
    const char *random = name + prefix + BOOT_LENGTH + 1;
    for (size_t i = 0; i < RANDOM_LENGTH; i++) {
        if (!isalnum((unsigned char)random[i])) {
            return false;
        }
    }
    return random[RANDOM_LENGTH] == '\0';
}

/* Remove a file of this user unless a process holds its lock. While this process holds the lock,
 * the file's maker cannot get it, and so learns that the file was swept. */
static void remove_dead(int folder, const char *name) {
    struct stat facts;
    int file = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) {
        return;
    }
    if (fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == geteuid() &&
        lock(file) && is_still_named(folder, name, &facts)) {
        (void)unlinkat(folder, name, 0);
    }
    close(file);
}

void ms_temporary_sweep(const char *folder) {
    char boot[BOOT_B];
    read_boot_id(boot);
    DIR *list = strcmp(boot, UNKNOWN_BOOT) == 0 ? NULL : opendir(folder);
    if (list == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list)) {
        if (is_ours(entry->d_name, boot)) {
            remove_dead(dirfd(list), entry->d_name);
        }
    }
    closedir(list);
}
