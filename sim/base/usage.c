/* Time, memory and program folder of this process, as Linux reports them (usage.h). */
#include "base/usage.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/failure.h"

double ms_wall_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

double ms_peak_rss_B(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return 1024.0 * (double)usage.ru_maxrss; /* Linux counts it in KiB */
}

bool ms_program_folder(char *folder_out, size_t size) {
    ssize_t length = readlink("/proc/self/exe", folder_out, size);
    if (length < 0) {
        ms_failure_note_file("/proc/self/exe", errno);
    }
    if (length <= 0 || (size_t)length >= size) {
        return false;
    }
    folder_out[length] = '\0';
    *strrchr(folder_out, '/') = '\0';
    return true;
}
