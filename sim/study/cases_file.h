/* What the readers of measured runs share. */
#ifndef MS_CASES_FILE_H
#define MS_CASES_FILE_H

#include "meshsim/cases.h"

/* Units that sources write their figures in. */
#define MS_GBIT_S_IN_BPS 125e6
#define MS_GB_S_IN_BPS   1e9
#define MS_GB_S_IN_BPS   1e9

/* One reading. */
typedef struct ms_cases_reading {
    ms_arena *arena;
    ms_diag *diag;
    ms_measurements *out;
} ms_cases_reading;

/* Read a list of cases into reading->out.  list: the document's root.  Returns as
 * ms_measurements_read. */
ms_status ms_cases_read_list(const ms_cases_reading *reading, ms_node *list);

/* Read one of the CSV tables.  text: of the file.  Returns as ms_measurements_read. */
ms_status ms_cases_read_csv(const ms_cases_reading *reading, const ms_text *text);

/* Whether a text is a log of nccl-tests, by its line of settings. */
bool ms_cases_is_nccl_log(const ms_text *text);

/* Read such a log.  Returns as ms_measurements_read. */
ms_status ms_cases_read_nccl_log(const ms_cases_reading *reading, const ms_text *text);

/* Read a table of a user's own runs.  Returns as ms_measurements_read. */
ms_status ms_cases_read_own(const ms_cases_reading *reading, const ms_text *text);

/* Read the points of a mapping of hardware facts.  Returns as ms_measurements_read. */
ms_status ms_cases_read_points(const ms_cases_reading *reading, const ms_node *root);

/* The kind of collective that sources call so; MS_COLL_NONE: it is not read. */
ms_coll_kind ms_cases_coll_kind(const char *name);

/* Add a collective; its time may follow from the bus bandwidth.  time_s, busbw_Bps: 0 if not given.
 *  Returns MS_OK; MS_E_RANGE if neither is given, nothing added. */
ms_status ms_cases_add_collective(const ms_cases_reading *reading, ms_case_collective point,
                                  double time_s, double busbw_Bps);

/* A step time as all that was measured.  step_s: NAN: not that either. */
ms_case_measured ms_case_measured_step(double step_s);

/* What was measured, from the mapping of figures and the scores beside it.
 *  *measured_out: in `arena`.  Returns MS_OK; MS_E_INPUT (reported); MS_E_NOMEM. */
ms_status ms_cases_read_measured(const ms_cases_reading *reading, const ms_node *row,
                                 const char *key_path, ms_case_measured *measured_out);

/* Whether a value stands for nothing: null, ~ or empty, without quotes. */
bool ms_cases_is_null(const ms_node *node);

#endif
