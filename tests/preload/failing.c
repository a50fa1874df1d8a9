/* Preloaded into the program under test: memory runs out, or the disk is slow or broken.
 *
 * MS_FAIL_AT=N     the N-th allocation of the process fails, counted from main on; forked children
 *                  count on from where their parent was. Those of HDF5 in the first process
 * succeed: it reads what a child has read before (sim/base/child.h), and HDF5 crashes at one
 * failed allocation in three MS_FAIL_LAST=M   and all after it up to the M-th; N when not given
 * MS_FAIL_CALL=N   the N-th system call of those in CALLS fails, counted from main on over the
 * process and its children: with EIO, ENOMEM of mmap(), EAGAIN of fork(); close() closes all the
 * same MS_FAIL_CALL_LAST=M  and all after it up to the M-th; N when not given MS_FAIL_COUNT=F  the
 * numbers of allocations and of system calls so far, each as 8 bytes of a file that exists; system
 * calls are counted where MS_FAIL_CALL is given MS_FAIL_READ=N   the N-th pread(), or pread64(), of
 * a process and all after it fail with EIO MS_SYNC_LOG=F    calls of fsync(), or fdatasync(), and
 * rename(), a line each, with the inode; F exists MS_FAIL_SYNC=1   fsync() of a file fails with
 * EIO, of a folder with EINVAL MS_SLOW_READ=T each pread() takes T microseconds more, and for
 * alarm() a second is a minute */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

/* the C library's own, under its second names */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

typedef int main_function(int, char **, char **);

/* What is counted, by its place in the file. */
enum { ALLOCATIONS, CALL_COUNT, COUNTS };

enum { CALLERS_MAX = 32 };

static uint64_t own_counts[COUNTS];
static uint64_t *counts = own_counts;
static uint64_t first = UINT64_MAX;
static uint64_t last = UINT64_MAX;
static bool is_on;
static pid_t first_process;
static main_function *real_main;

static uint64_t number_of(const char *name, uint64_t fallback) {
    const char *text = getenv(name);
    return text == NULL ? fallback : strtoull(text, NULL, 10);
}

/* ---- memory ---- */

/* Whether HDF5, or what it calls, asks for memory in the process that was started, not in a child
 * of it. */
static bool is_hdf5_here(void) {
    static __thread bool is_looking; /* the C library may allocate, too, to find out */
    void *callers[CALLERS_MAX];
    bool is_hdf5 = is_looking;
    if (getpid() != first_process || is_looking) {
        return is_looking;
    }
    is_looking = true;
    int count = backtrace(callers, CALLERS_MAX);
    for (int i = 0; i < count && !is_hdf5; i++) {
        Dl_info found;
        is_hdf5 = dladdr(callers[i], &found) != 0 && found.dli_fname != NULL &&
                  strstr(found.dli_fname, "hdf5") != NULL;
    }
    is_looking = false;
    return is_hdf5;
}

static bool fails(void) {
    if (!is_on) {
        return false;
    }
    uint64_t number = ++counts[ALLOCATIONS];
    return number >= first && number <= last && !is_hdf5_here();
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

/* ---- system calls ----
 * The kernel stops each call of the list before it is made (SECCOMP_RET_TRAP), whoever makes it:
 * the program, the C library's streams, HDF5, SQLite. The handler of SIGSYS then makes it, or not.
 */
#ifdef __x86_64__
static const int CALLS[] = {
    SYS_read,       SYS_pread64,   SYS_readv,  SYS_write,    SYS_pwrite64,  SYS_writev,
    SYS_open,       SYS_openat,    SYS_stat,   SYS_fstat,    SYS_lstat,     SYS_newfstatat,
    SYS_access,     SYS_faccessat, SYS_rename, SYS_renameat, SYS_renameat2, SYS_mkdir,
    SYS_unlink,     SYS_unlinkat,  SYS_close,  SYS_fsync,    SYS_fdatasync, SYS_ftruncate,
    SYS_getdents64, SYS_lseek,     SYS_pipe,   SYS_pipe2,    SYS_mmap,      SYS_clone,
    SYS_readlink,   SYS_statx,
};
enum { CALL_KINDS = sizeof CALLS / sizeof CALLS[0], FILTER_MAX = 2 * CALL_KINDS + 24 };

static uint64_t first_call = UINT64_MAX;
static uint64_t last_call = UINT64_MAX;

/* Makes a system call at an address that the filter lets pass.  Returns the kernel's answer. */
long failing_call(long number, const long *words);
extern const char failing_call_made[]; /* the address behind the instruction */
__asm__(".text\n"
        ".globl failing_call\n"
        ".hidden failing_call\n"
        ".hidden failing_call_made\n"
        ".type failing_call, @function\n"
        "failing_call:\n"
        "    movq %rdi, %rax\n"
        "    movq %rsi, %r11\n"
        "    movq 0(%r11), %rdi\n"
        "    movq 8(%r11), %rsi\n"
        "    movq 16(%r11), %rdx\n"
        "    movq 24(%r11), %r10\n"
        "    movq 32(%r11), %r8\n"
        "    movq 40(%r11), %r9\n"
        "    syscall\n"
        ".globl failing_call_made\n"
        "failing_call_made:\n"
        "    ret\n");

static int error_of(long number) {
    return number == SYS_mmap ? ENOMEM : number == SYS_clone ? EAGAIN : EIO;
}

static void on_call(int signal_number, siginfo_t *info, void *context) {
    (void)signal_number;
    int error = errno;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const long words[] = {registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                          registers[REG_R10], registers[REG_R8],  registers[REG_R9]};
    uint64_t number = is_on ? __atomic_add_fetch(&counts[CALL_COUNT], 1, __ATOMIC_RELAXED) : 0;
    bool is_refused = is_on && number >= first_call && number <= last_call;
    if (!is_refused || info->si_syscall == SYS_close) {
        registers[REG_RAX] = failing_call(info->si_syscall, words);
    }
    if (is_refused) {
        registers[REG_RAX] = -error_of(info->si_syscall);
    }
    errno = error;
}

#define FIELD(name) ((uint32_t)offsetof(struct seccomp_data, name))
#define LOAD(at)    ((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at))
#define RETURN(how) ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, how))
#define SKIP_UNLESS(word, count)                                                                   \
    ((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(word), 0, count))

/* Writes on the standard error pass, which tell what failed; so do threads and processes that share
 * their memory, which begin on a stack of their own, and memory that is no file's, for an
 * allocation can fail by itself. */
static void stop_calls(void) {
    struct sock_filter filter[FILTER_MAX];
    unsigned short length = 0;
    uint64_t own = (uint64_t)(uintptr_t)failing_call_made;
    filter[length++] = LOAD(FIELD(instruction_pointer));
    filter[length++] = SKIP_UNLESS(own, 3);
    filter[length++] = LOAD(FIELD(instruction_pointer) + 4);
    filter[length++] = SKIP_UNLESS(own >> 32, 1);
    filter[length++] = RETURN(SECCOMP_RET_ALLOW);
    filter[length++] = LOAD(FIELD(nr));
    filter[length++] = SKIP_UNLESS(SYS_write, 3);
    filter[length++] = LOAD(FIELD(args[0]));
    filter[length++] = SKIP_UNLESS(STDERR_FILENO, 1);
    filter[length++] = RETURN(SECCOMP_RET_ALLOW);
    filter[length++] = LOAD(FIELD(nr));
    filter[length++] = SKIP_UNLESS(SYS_clone, 3);
    filter[length++] = LOAD(FIELD(args[0]));
    filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_VM, 0, 1);
    filter[length++] = RETURN(SECCOMP_RET_ALLOW);
    filter[length++] = LOAD(FIELD(nr));
    filter[length++] = SKIP_UNLESS(SYS_mmap, 3);
    filter[length++] = LOAD(FIELD(args[3]));
    filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 1, 0);
    filter[length++] = RETURN(SECCOMP_RET_ALLOW);
    filter[length++] = LOAD(FIELD(nr));
    for (size_t i = 0; i < CALL_KINDS; i++) {
        filter[length++] = SKIP_UNLESS(CALLS[i], 1);
        filter[length++] = RETURN(SECCOMP_RET_TRAP);
    }
    filter[length++] = RETURN(SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {.len = length, .filter = filter};
    struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSYS, &action, NULL);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        _exit(99);
    }
}

/* No mask holds SIGSYS back: the kernel kills whoever makes a call that it cannot tell of. */
static int mask_signals(int how, const sigset_t *set, sigset_t *before_out) {
    sigset_t less;
    if (set != NULL && how != SIG_UNBLOCK) {
        less = *set;
        sigdelset(&less, SIGSYS);
        set = &less;
    }
    enum { KERNEL_SET_B = 8 };
    return (int)syscall(SYS_rt_sigprocmask, how, set, before_out, KERNEL_SET_B);
}

int sigprocmask(int how, const sigset_t *set, sigset_t *before_out) {
    return mask_signals(how, set, before_out);
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *before_out) {
    return mask_signals(how, set, before_out) == 0 ? 0 : errno;
}

static void count_calls(void) {
    if (getenv("MS_FAIL_CALL") != NULL) {
        first_call = number_of("MS_FAIL_CALL", UINT64_MAX);
        last_call = number_of("MS_FAIL_CALL_LAST", first_call);
        stop_calls();
    }
}
#else
static void count_calls(void) {
    if (getenv("MS_FAIL_CALL") != NULL) {
        _exit(99); /* of this processor nobody has written the registers down */
    }
}
#endif

/* ---- the start ---- */

static int counted_main(int words, char **argv, char **environment) {
    first = number_of("MS_FAIL_AT", UINT64_MAX);
    last = number_of("MS_FAIL_LAST", first);
    const char *path = getenv("MS_FAIL_COUNT");
    int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (file >= 0) {
        void *shared = mmap(NULL, sizeof own_counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        counts = shared == MAP_FAILED ? own_counts : shared;
        close(file);
    }
    count_calls();
    first_process = getpid();
    (void)is_hdf5_here(); /* loads what looking needs */
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
