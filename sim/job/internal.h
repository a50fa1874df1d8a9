/* Functions that the files of the room job share: steps of reading a workload, of laying its spec
 * out to a job, and checks. */
#ifndef MS_SPEC_INTERNAL_H
#define MS_SPEC_INTERNAL_H

#include "job/spec_text.h"

/* Prefix of a file's path in schedule.kind. */
#define MS_SPEC_CSV_PREFIX "csv:"

/* Replace the request's workload by the path of its file where it is the name of an installed
 * workload and no file here has that name. Returns MS_OK; MS_E_INPUT (reported) when there is none;
 * MS_E_NOMEM (reported). */
ms_status ms_spec_find_workload(const ms_job_request *request, ms_arena *arena, ms_diag *diag,
                                ms_job_request *found_out);

/* Replace `key: NAME` by `key: {member: NAME}`, so that overrides find a mapping. Returns MS_OK;
 * MS_E_NOMEM. */
ms_status ms_spec_normalise(ms_node *root, const char *key, const char *member, ms_arena *arena);

/* Word in place of a framework's name: the workload takes no choices from a profile. */
#define MS_FRAMEWORK_NONE "none"

/* Lay the choices of the framework that a workload names below the workload's keys: they hold where
 * the workload says nothing. folder: of the workload. is_alone: the workload exists for the
 * profile's sake, and gets experts where the profile has choices about experts. Returns MS_OK, also
 * where no framework is named; MS_E_INPUT, MS_E_IO (reported); MS_E_NOMEM. */
ms_status ms_spec_lay_framework(const ms_job_request *request, const char *folder, bool is_alone,
                                ms_node *root, ms_arena *arena, ms_diag *diag);

/* Lay the model of the Hugging Face config that `model.hf` names below the model's other keys, and
 * remove that key. folder: of the workload. data_folder: as for ms_hf_load_types. Returns MS_OK,
 * also where no config is named; MS_E_INPUT, MS_E_IO (reported); MS_E_NOMEM. */
ms_status ms_spec_lay_hf(const char *folder, const char *data_folder, ms_node *root,
                         ms_arena *arena, ms_diag *diag);

/* Take back choices of the framework that the job has no use for, in the spec and in its tree.
 * root: with the framework's choices laid below; NULL: the spec comes from no file, and all its
 * choices are the framework's. */
void ms_spec_fit_choices(ms_job_spec *spec, ms_node *root);

/* Whether a key's node came from a framework's profile. */
bool ms_spec_is_choice(const ms_node *node);

/* Load the platform that the request, or else the workload's mapping, names into spec->platform,
 * with the workload's changes laid over it. Returns MS_OK; MS_E_INPUT, MS_E_IO (reported);
 * MS_E_NOMEM. */
ms_status ms_spec_load_platform(const ms_job_request *request, const ms_node *mapping,
                                ms_arena *arena, ms_diag *diag, ms_job_spec *spec);

/* Check each key of a spec by itself, as the reader does with a file's keys. Returns MS_OK;
 * MS_E_INPUT, every fault reported. */
ms_status ms_spec_check_fields(const ms_job_spec *spec, ms_diag *diag);

/* The tree of a spec's workload file, as ms_job_spec_write writes it.  *root_out: in `arena`.
 * Returns MS_OK; MS_E_NOMEM (not reported). */
ms_status ms_spec_write_root(const ms_job_spec *spec, ms_arena *arena, ms_node **root_out);

/* Report the faults that ms_job_lay_out would find in a spec that may lack parts; the faults of
 * missing parts are reported already. */
void ms_spec_check_parts(const ms_job_spec *spec, ms_arena *arena, ms_diag *diag);

/* Set job->layout to the spec's choices with the degrees of the job's meshes. Members that the
 * schedule decides, stage_layers and ep_node_ranks are left unset. Returns MS_OK; MS_E_INPUT for
 * axes that cannot be used, reported. */
ms_status ms_spec_find_layout(ms_job *job, ms_arena *arena, ms_diag *diag);

/* Set job->layout.ep_node_ranks: the members of rank 0's ep group that are on the node of the
 * group's first member. Returns MS_OK; MS_E_NOMEM. */
ms_status ms_spec_count_node_ranks(ms_job *job, ms_arena *arena);

/* Check that `schedule.v` is given for a schedule kind that takes any number of virtual stages.
 * With one virtual stage the schedule would be that of another kind, and its step would be mistaken
 * for that of the kind asked for. ranks: pipeline ranks. Returns MS_OK; MS_E_INPUT (reported). */
ms_status ms_spec_check_chunks(const ms_job_spec *spec, int ranks, ms_diag *diag);

/* Check that the model's layers can be shared among the stages of job->program, and set
 * job->layout.stage_layers: in `arena` or borrowed from the spec, NULL for a balanced partition.
 * Returns MS_OK; MS_E_INPUT (reported); MS_E_NOMEM. */
ms_status ms_spec_partition_layers(ms_job *job, ms_arena *arena, ms_diag *diag);

/* Ranks that each take other sequences of the batch: dp, the user's own axis, and ep where it is an
 * axis of the mesh and not of the experts' own mesh. */
int ms_layout_replicas(const ms_model_layout *layout);

/* Refuse a job that the spec's framework refuses to run, with an error for each reason
 * (refusals.c).  layout: of the spec, without its stages.  Returns MS_OK; MS_E_INPUT (reported).
 * O(1). */
ms_status ms_spec_check_refusals(const ms_job_spec *spec, const ms_model_layout *layout,
                                 ms_diag *diag);

/* Build job->program from the spec's schedule, and set what it decides of job->layout; mesh and
 * microbatches are known. The lists of a file are checked. Orders of a kind and places of gathers
 * are made by meshsim itself and hold what ms_program_check tests, which takes longer than making
 * them and is left to tests. Returns MS_OK; MS_E_INPUT, MS_E_IO (reported); MS_E_NOMEM. */
ms_status ms_spec_build_program(ms_job *job, ms_arena *arena, ms_diag *diag);

#endif
