/* Words and colours of a mesh's ranks and groups. */
#ifndef MS_REPORT_MESH_GROUPS_H
#define MS_REPORT_MESH_GROUPS_H

#include "meshsim/mesh.h"

enum { MS_MESH_TEXT_SIZE = 256 };

/* GPUs without a rank. */
#define MS_MESH_IDLE_COLOUR  "#eeeeee"
#define MS_MESH_SPARE_COLOUR "#bbbbbb"

/* "0,1,3", or with names "pp 0, dp 1, tp 3". */
void ms_mesh_text_place(const ms_mesh *mesh, int rank, bool has_names,
                        char text[MS_MESH_TEXT_SIZE]);

/* "pp 2 x dp 2 x tp 2". */
void ms_mesh_text_shape(const ms_mesh *mesh, char text[MS_MESH_TEXT_SIZE]);

/* Number of a rank's group along the axis: its other coordinates, counted innermost fastest. */
int ms_mesh_group_number(const ms_mesh *mesh, int axis, int rank);

/* Of seven colours none of which is like the grey of a GPU without a rank, as black halfway to
 * white would be; static. */
const char *ms_mesh_group_colour(int group);

#endif
