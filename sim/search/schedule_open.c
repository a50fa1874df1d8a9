/* Opens a schedule that a user has chosen: builds it by its kind, or reads its order of passes from
 * a CSV file. */
#include "search/schedules.h"

/* A file has its own order of passes, ranks and microbatches; only the number of slices is not in
 * the file. */
ms_status ms_schedule_open(const ms_schedule_choice *choice, const ms_schedule_spec *sizes,
                           ms_arena *arena, ms_diag *diag, ms_opened_schedule *opened_out) {
    ms_opened_schedule opened = {.has_cells = choice->file != NULL};
    ms_status status = MS_OK;
    if (choice->file == NULL) {
        ms_schedule_spec spec = *sizes;
        spec.kind = choice->kind;
        spec.is_reordered = spec.is_reordered || choice->is_reordered;
        status = ms_schedule_build(&spec, arena, diag, &opened.program);
    } else {
        int slices = sizes->slices == 0 ? 1 : sizes->slices;
        status = ms_csv_load(choice->file, arena, diag, &opened.cells);
        status = status == MS_OK ? ms_csv_program(&opened.cells, choice->name, slices, arena, diag,
                                                  &opened.program)
                                 : status;
    }
    if (status == MS_OK) {
        *opened_out = opened;
    }
    return status;
}
