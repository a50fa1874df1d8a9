/* Exit code and name of each status (status.h), from one table. */
#include "base/status.h"

/* Exit code and name of a status. */
typedef struct status_row {
    int exit_code;
    const char *name;
} status_row;

/* The row of a status, or one for values that are no status. Rows are indexed by the negated
 * status. */
static status_row row_of(ms_status status) {
    static const status_row ROWS[] = {
        [-MS_OK] = {0, "fine"},
        [-MS_E_NO] = {1, "the answer is no"},
        [-MS_E_USAGE] = {2, "wrong usage"},
        [-MS_E_INPUT] = {3, "bad input"},
        [-MS_E_IO] = {4, "input or output failed"},
        [-MS_E_NOMEM] = {4, "out of memory"},
        [-MS_E_RANGE] = {70, "argument out of range"},
        [-MS_E_INTERRUPTED] = {130, "interrupted"},
        [-MS_E_BUG] = {70, "a bug in meshsim"},
    };
    const status_row unknown = {70, "unknown status"};
    return status <= MS_OK && status >= MS_E_BUG ? ROWS[-(int)status] : unknown;
}

int ms_status_exit_code(ms_status status) {
    return row_of(status).exit_code;
}

const char *ms_status_name(ms_status status) {
    return row_of(status).name;
}
