/* `import slurm`: Slurm's topology.conf, and what NCCL found in a node, as a platform file. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "study/import/kinds.h"
#include "study/import/slurm_platform.h"

/* One import. */
typedef struct slurm_import {
    const ms_import_source *source;
    ms_arena *arena;
    ms_diag *diag;
    ms_imported *out;
    ms_slurm_topology topology;
    ms_nccl_machine machine;
    bool has_machine;
} slurm_import;

static ms_status load(const slurm_import *s, const char *path, ms_text *text) {
    ms_buffer bytes;
    ms_buffer_init(&bytes);
    ms_status status = ms_file_read(path, MS_FILE_TEXT, &bytes, s->diag);
    char *kept = status == MS_OK ? MS_NEW(s->arena, char, bytes.length + 1) : NULL;
    if (kept != NULL && bytes.length > 0) {
        memcpy(kept, bytes.data, bytes.length);
    }
    *text = (ms_text){path, kept, bytes.length};
    ms_buffer_release(&bytes);
    return status == MS_OK && kept == NULL ? ms_diag_no_memory(s->diag)
           : status == MS_E_NOMEM          ? ms_diag_no_memory(s->diag)
                                           : status;
}

static bool is_xml(const ms_text *text) {
    size_t at = 0;
    while (at < text->length_B && strchr(" \t\r\n", text->data[at]) != NULL) {
        at++;
    }
    return at < text->length_B && text->data[at] == '<';
}

/* ---- files ---- */

/* Whether two nodes are of one sort, as all of a platform are. */
static bool is_alike(const ms_nccl_machine *a, const ms_nccl_machine *b) {
    return a->hosts == b->hosts && a->gpus.count == b->gpus.count && a->gpus.sm == b->gpus.sm &&
           a->gpus.device == b->gpus.device && a->gpus.links == b->gpus.links &&
           a->nics.count == b->nics.count && fabs(a->nics.speed_Bps - b->nics.speed_Bps) < 1;
}

static ms_status read_machine(slurm_import *s, const char *path) {
    ms_text text;
    ms_nccl_machine machine;
    ms_status status = load(s, path, &text);
    if (status != MS_OK) {
        return status;
    }
    /* of several nodes the first one tells what became of its attributes */
    status = ms_nccl_topo_read(&text, s->arena, s->diag, s->has_machine ? NULL : &s->out->keys,
                               &machine);
    if (status == MS_OK && s->has_machine && !is_alike(&s->machine, &machine)) {
        ms_diag_at(s->diag, &machine.gpus.mark, NULL,
                   "another sort of node than in '%s'; a platform has one", s->source->files[1]);
        return MS_E_INPUT;
    }
    if (status == MS_OK) {
        s->machine = machine;
        s->has_machine = true;
    }
    return status;
}

static ms_status read_files(slurm_import *s) {
    ms_text text;
    ms_status status = load(s, s->source->files[0], &text);
    if (status == MS_OK && is_xml(&text)) {
        const ms_mark mark = {.file = text.name, .line = 1};
        ms_diag_at(s->diag, &mark, NULL,
                   "expected a topology.conf of Slurm in front of NCCL's files");
        return MS_E_INPUT;
    }
    status = status == MS_OK ? ms_slurm_read(&text, s->arena, s->diag, &s->out->keys, &s->topology)
                             : status;
    for (size_t i = 1; i < s->source->file_count && status != MS_E_NOMEM; i++) {
        ms_status one = read_machine(s, s->source->files[i]);
        status = status == MS_OK || one == MS_E_NOMEM ? one : status;
    }
    return status;
}

static ms_status read_slurm(const ms_import_source *source, ms_arena *arena, ms_diag *diag,
                            ms_imported *out) {
    slurm_import *s = MS_NEW(arena, slurm_import, 1);
    if (s == NULL) {
        return ms_diag_no_memory(diag);
    }
    *s = (slurm_import){.source = source, .arena = arena, .diag = diag, .out = out};
    ms_status status = read_files(s);
    if (status != MS_OK) {
        return status;
    }
    out->about = ms_arena_printf(arena, "%s%s", source->files[0],
                                 s->has_machine ? " and what NCCL found in its nodes" : "");
    return out->about == NULL ? ms_diag_no_memory(diag)
                              : ms_slurm_platform(&s->topology, s->has_machine ? &s->machine : NULL,
                                                  arena, diag, out);
}

const ms_import_kind ms_import_slurm = {
    .name = "slurm",
    .product = MS_IMPORT_PLATFORM,
    .read = read_slurm,
};
