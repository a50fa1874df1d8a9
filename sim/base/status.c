#include "base/status.h"

#include <stddef.h>

static const struct {
    ms_status status;
    int exit_code;
    const char *name;
} TABLE[] = {
    {MS_OK, 0, "fine"},
    {MS_E_NO, 1, "the answer is no"},
    {MS_E_USAGE, 2, "wrong usage"},
    {MS_E_INPUT, 3, "bad input"},
    {MS_E_IO, 4, "input or output failed"},
    {MS_E_NOMEM, 4, "out of memory"},
    {MS_E_RANGE, 70, "argument out of range"},
    {MS_E_INTERRUPTED, 130, "interrupted"},
    {MS_E_BUG, 70, "a bug in meshsim"},
};

int ms_status_exit_code(ms_status status) {
    for (size_t i = 0; i < sizeof TABLE / sizeof TABLE[0]; i++) {
        if (TABLE[i].status == status) {
            return TABLE[i].exit_code;
        }
    }
    return 70;
}

const char *ms_status_name(ms_status status) {
    for (size_t i = 0; i < sizeof TABLE / sizeof TABLE[0]; i++) {
        if (TABLE[i].status == status) {
            return TABLE[i].name;
        }
    }
    return "unknown status";
}
