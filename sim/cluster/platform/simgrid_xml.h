/* What the fabrics' parts of the SimGrid description share. */
#ifndef MS_PLATFORM_SIMGRID_XML_H
#define MS_PLATFORM_SIMGRID_XML_H

#include "cluster/platform/platform.h"

/* A directed route of the SimGrid description between two vertices.  link: -1 for none.  steps: how
 * many `step` links stand before it. */
enum { MS_XML_NAME_SIZE = 96 };
typedef struct ms_xml_edge {
    char from[MS_XML_NAME_SIZE], to[MS_XML_NAME_SIZE];
    int link;
    int steps;
} ms_xml_edge;
void ms_xml_write_edge(const ms_platform *platform, const ms_xml_edge *e, ms_buffer *out);

#endif
