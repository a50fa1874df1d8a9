/* Records failures of the operating system (failure.h): the last one and how many there were. Each
 * thread has a record of its own, so that no thread takes the failure of another for its own. */
#include "base/failure.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static _Thread_local size_t count;
static _Thread_local ms_status last = MS_OK;
static _Thread_local char text[512];

void ms_failure_note_memory(void) {
    count++;
    last = MS_E_NOMEM;
    snprintf(text, sizeof text, "out of memory");
}

/* Whether an error is of the system itself; other errors, such as ENOENT or EACCES, are about the
 * file. */
static bool is_of_system(int error) {
    return error == EIO || error == ENOMEM || error == EMFILE || error == ENFILE;
}

void ms_failure_note_file(const char *path, int error) {
    if (!is_of_system(error)) {
        return;
    }
    if (error == ENOMEM) {
        ms_failure_note_memory();
        return;
    }
    count++;
    last = MS_E_IO;
    snprintf(text, sizeof text, "cannot read '%.300s': %s", path, strerror(error));
}

size_t ms_failure_count(void) {
    return count;
}

ms_status ms_failure_since(size_t before, ms_status status) {
    bool is_said = status == MS_E_NOMEM || status == MS_E_IO || status == MS_E_INTERRUPTED;
    return count == before || is_said ? status : last;
}

const char *ms_failure_text(void) {
    return text;
}

bool ms_file_is_there(const char *path) {
    if (access(path, F_OK) == 0) {
        return true;
    }
    ms_failure_note_file(path, errno);
    return false;
}
