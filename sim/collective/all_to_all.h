/* The messages of an all-to-all: sources, destinations and bytes. Also the type of any set of
 * messages that run at the same time. */
#ifndef MS_COLLECTIVE_ALL_TO_ALL_H
#define MS_COLLECTIVE_ALL_TO_ALL_H

#include "collective/collective.h"
#include "collective/group_nodes.h"

/* Families of messages; those of one family are equally large. PAIRS: to the destination, or to the
 * member that forwards; FORWARDS: from that member to the destination. */
enum { MS_FAMILY_PAIRS = 0, MS_FAMILY_FORWARDS = 1, MS_FAMILY_COUNT = 2 };

/* An all-to-all laid out. */
typedef struct ms_exchange {
    const ms_platform *platform;
    ms_node_order nodes; /* the members, node by node */
    int members;
    int node_members; /* members of the node with the most */
    bool is_by_node;  /* a copy crosses to each node once and is forwarded inside it */
    double message_B[MS_FAMILY_COUNT]; /* bytes of a message by family, mean over the members [B] */
    double slowness; /* as in ms_flow: all-to-alls reach a lower share of the bandwidth, and the
                        busiest member sends more than the mean */
    double sent_B;   /* bytes that a member sends, mean [B] */
} ms_exchange;

/* A message. */
typedef struct ms_message {
    int source, destination; /* GPUs */
    int family;              /* MS_FAMILY_PAIRS or MS_FAMILY_FORWARDS */
} ms_message;

/* Called once for every message of a set. */
typedef void ms_message_visit(void *context, const ms_message *message);

/* A set of messages that run at the same time. visit(source, each, context) calls each(context,
 * message) for every message, always in the same order. */
typedef struct ms_message_set {
    const ms_platform *platform;
    double message_B[MS_FAMILY_COUNT]; /* bytes of a message, by family [B] */
    double slowness[MS_FAMILY_COUNT];  /* as in ms_flow */
    void (*visit)(const void *source, ms_message_visit *each, void *context);
    const void *source;
    const int *gpus; /* [members] node by node, for sets in which every GPU of these sends one
                        message to every other one, all of family PAIRS; NULL: any other set */
    int members;
} ms_message_set;

/* Lay out an all-to-all request of >= 2 members.  *exchange_out: in `arena`.  Returns MS_OK;
 * MS_E_NOMEM.  O(members) (see ms_node_order_find). */
ms_status ms_exchange_init(const ms_platform *platform, const ms_coll_request *request,
                           ms_arena *arena, ms_exchange *exchange_out);

/* The set of the messages of an all-to-all.  exchange: borrowed.  A visit is O(members^2). */
ms_message_set ms_exchange_messages(const ms_exchange *exchange);

#endif
