/* Declarations that the parts of the SimGrid description of all fabrics share. */
#ifndef MS_PLATFORM_SIMGRID_XML_H
#define MS_PLATFORM_SIMGRID_XML_H

#include "cluster/platform/platform.h"

/* Room for the name of a router, host or link, with its NUL [B]. */
enum { MS_XML_NAME_SIZE = 96 };
/* A directed route of the SimGrid description between two routers or hosts. */
typedef struct ms_xml_edge {
    char from[MS_XML_NAME_SIZE], to[MS_XML_NAME_SIZE];
    int link;  /* of the platform; -1: none */
    int steps; /* number of `step` links before it, which only make the route longer */
} ms_xml_edge;
/* Write a directed route. */
void ms_xml_write_edge(const ms_platform *platform, const ms_xml_edge *e, ms_buffer *out);

#endif
