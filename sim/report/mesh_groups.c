#include "report/mesh_groups.h"

#include <stdio.h>

#include "report/svg.h"

void ms_mesh_text_place(const ms_mesh *mesh, int rank, bool has_names,
                        char text[MS_MESH_TEXT_SIZE]) {
    int coordinates[MS_MESH_AXES_MAX];
    size_t length = 0;
    ms_mesh_coordinates(mesh, rank, coordinates);
    for (int axis = 0; axis < mesh->axes && length < MS_MESH_TEXT_SIZE; axis++) {
        length += (size_t)snprintf(text + length, MS_MESH_TEXT_SIZE - length, "%s%s%s%d",
                                   axis == 0   ? ""
                                   : has_names ? ", "
                                               : ",",
                                   has_names ? mesh->names[axis] : "", has_names ? " " : "",
                                   coordinates[axis]);
    }
}

void ms_mesh_text_shape(const ms_mesh *mesh, char text[MS_MESH_TEXT_SIZE]) {
    size_t length = 0;
    for (int axis = 0; axis < mesh->axes && length < MS_MESH_TEXT_SIZE; axis++) {
        length += (size_t)snprintf(text + length, MS_MESH_TEXT_SIZE - length, "%s%s %d",
                                   axis == 0 ? "" : " x ", mesh->names[axis], mesh->sizes[axis]);
    }
}

int ms_mesh_group_number(const ms_mesh *mesh, int axis, int rank) {
    int coordinates[MS_MESH_AXES_MAX];
    int group = 0;
    ms_mesh_coordinates(mesh, rank, coordinates);
    for (int i = 0; i < mesh->axes; i++) {
        group = i == axis ? group : group * mesh->sizes[i] + coordinates[i];
    }
    return group;
}

const char *ms_mesh_group_colour(int group) {
    enum { TURN = 7 };
    static const char YELLOW[] = "#f0e442"; /* the eighth of Okabe and Ito's */
    return group % TURN == TURN - 1 ? YELLOW : ms_svg_series_colour((size_t)(group % TURN));
}
