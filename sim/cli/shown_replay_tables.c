/* The tables that `meshsim replay` prints of its result tree (render.h, shown_tables.h). */
#include "cli/shown_tables.h"

static const ms_shown_column JOB_FACTS[] = {
    {"dp", "data-parallel ranks", MS_SHOWN_COUNT},        {"pp", "pipeline stages", MS_SHOWN_COUNT},
    {"virtual_stages", "virtual stages", MS_SHOWN_COUNT}, {"schedule", "schedule", MS_SHOWN_TEXT},
    {"num_microbatches", "microbatches", MS_SHOWN_COUNT}, {"steps", "steps", MS_SHOWN_COUNT},
    {"operations", "operations in one", MS_SHOWN_COUNT},  {0}};
static const ms_shown_column STEP_FACTS[] = {
    {"step_time_s", "as measured", MS_SHOWN_TIME},
    {"T", "without launch delays (T)", MS_SHOWN_TIME},
    {"I", "without stragglers (I)", MS_SHOWN_TIME},
    {"launch_slowdown", "slow-down by launches", MS_SHOWN_NUMBER},
    {"S", "slow-down by stragglers (S)", MS_SHOWN_NUMBER},
    {"wasted_share", "wasted on stragglers", MS_SHOWN_SHARE},
    {0}};
static const ms_shown_column WHATIF_COLUMNS[] = {{"change", "what if", MS_SHOWN_TEXT},
                                                 {"step_time_s", "step", MS_SHOWN_TIME},
                                                 {"gain", "saves", MS_SHOWN_CHANGE},
                                                 {"S", "S", MS_SHOWN_NUMBER},
                                                 {0}};
static const ms_shown_column PART_COLUMNS[] = {
    {"@", "alone", MS_SHOWN_TEXT}, {"", "S", MS_SHOWN_NUMBER}, {0}};
static const ms_shown_column WORKER_COLUMNS[] = {
    {"dp_rank", "dp rank", MS_SHOWN_COUNT}, {"stage/@", "", MS_SHOWN_NUMBER}, {0}};
static const ms_shown_column WORST_COLUMNS[] = {{"dp_rank", "dp rank", MS_SHOWN_COUNT},
                                                {"stage", "stage", MS_SHOWN_COUNT},
                                                {"S", "S", MS_SHOWN_NUMBER},
                                                {0}};
static const ms_shown_column SHARE_FACTS[] = {
    {"Ms/rem", "last stage: its share of the loss (Ms)", MS_SHOWN_SHARE},
    {"Ms/add", "the same, added to the ideal step", MS_SHOWN_SHARE},
    {"Mw/rem", "worst workers: their share (Mw)", MS_SHOWN_SHARE},
    {"Mw/add", "the same, added to the ideal step", MS_SHOWN_SHARE},
    {0}};
static const ms_shown_column STEP_COLUMNS[] = {{"step", "step", MS_SHOWN_COUNT},
                                               {"step_t_base", "measured", MS_SHOWN_TIME},
                                               {"step_t_nodelay", "no delays", MS_SHOWN_TIME},
                                               {"step_t_noblk", "ideal", MS_SHOWN_TIME},
                                               {"S_step", "S", MS_SHOWN_NUMBER},
                                               {0}};

const ms_shown_table MS_REPLAY_TABLES[] = {
    {.title = "", .rows = MS_SHOWN_OF_NOTES, .path = "in_words"},
    {.title = "the job", .rows = MS_SHOWN_OF_FACTS, .columns = JOB_FACTS},
    {.title = "the step, mean of all", .rows = MS_SHOWN_OF_FACTS, .columns = STEP_FACTS},
    {.title = "what if (without launch delays)", .path = "whatif", .columns = WHATIF_COLUMNS},
    {.title = "how much is explained", .rows = MS_SHOWN_OF_FACTS, .columns = SHARE_FACTS},
    {.title = "the worst workers", .path = "Mw/workers", .columns = WORST_COLUMNS},
    {.title = "only one stage as measured", .path = "S_stage", .columns = PART_COLUMNS},
    {.title = "only one data-parallel rank as measured",
     .path = "S_dp_rank",
     .columns = PART_COLUMNS},
    {.title = "only one kind of operation as measured", .path = "S_kind", .columns = PART_COLUMNS},
    {.title = "workers: the lower S of their rank and stage",
     .path = "S_worker",
     .columns = WORKER_COLUMNS},
    {.title = "steps", .path = "rows", .columns = STEP_COLUMNS},
    {0}};
