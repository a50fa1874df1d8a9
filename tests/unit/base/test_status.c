#include <criterion/criterion.h>
#include <string.h>

#include "base/status.h"

Test(status, exit_codes_are_the_contract) {
    static const struct {
        ms_status status;
        int exit_code;
    } CASES[] = {{MS_OK, 0},     {MS_E_NO, 1},         {MS_E_USAGE, 2},   {MS_E_INPUT, 3},
                 {MS_E_IO, 4},   {MS_E_NOMEM, 4},      {MS_E_RANGE, 70},  {MS_E_INTERRUPTED, 130},
                 {MS_E_BUG, 70}, {(ms_status)-99, 70}, {(ms_status)1, 70}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        cr_assert_eq(ms_status_exit_code(CASES[i].status), CASES[i].exit_code, "status %d",
                     (int)CASES[i].status);
    }
}

Test(status, names_differ_and_are_never_null) {
    for (int a = MS_E_BUG - 1; a <= MS_OK; a++) {
        cr_assert_not_null(ms_status_name((ms_status)a));
        for (int b = MS_E_BUG - 1; b < a; b++) {
            cr_assert_str_neq(ms_status_name((ms_status)a), ms_status_name((ms_status)b));
        }
    }
}
