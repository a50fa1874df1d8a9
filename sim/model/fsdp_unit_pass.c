/* Adds one FSDP unit's part of a pass to the builder: the kernels and collectives of a layer, the
 * embedding, the head or an MTP module, without the gather and reduction of its parameters. */
#include "model/internal.h"

/* Add a unit's part of a pass by the kind of the unit. MTP modules are numbered as layers behind
 * the last one. */
void ms_cost_add_fsdp_unit(ms_cost_builder *builder, ms_pass pass, const ms_fsdp_unit *unit) {
    switch (unit->kind) {
    case MS_FSDP_UNIT_EMBEDDING:
        ms_cost_embedding(builder, pass);
        break;
    case MS_FSDP_UNIT_HEAD:
        ms_cost_head(builder, pass);
        break;
    case MS_FSDP_UNIT_MTP:
        ms_cost_mtp(builder, unit->layer - builder->model->layers, pass);
        break;
    case MS_FSDP_UNIT_LAYER:
    default:
        ms_cost_layer(builder, unit->layer, pass);
        break;
    }
}
