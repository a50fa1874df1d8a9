/* The messages of an all-to-all: who sends how much to whom. */
#ifndef MS_COLLECTIVE_EXCHANGE_H
#define MS_COLLECTIVE_EXCHANGE_H

#include "collective/collective.h"
#include "collective/group_nodes.h"

/* Messages of one family are equally large. */
enum { MS_FAMILY_PAIRS = 0, MS_FAMILY_FORWARDS = 1, MS_FAMILY_COUNT = 2 };

typedef struct ms_exchange {
    const ms_platform *platform;
    ms_node_order nodes; /* the members, node by node */
    int members;
    int node_members; /* of the node with the most */
    bool is_by_node;  /* a copy crosses to a node once and is forwarded inside it */
    double message_B[MS_FAMILY_COUNT]; /* of each message, mean of all members [B] */
    double slowness; /* as in ms_flow: all-to-alls reach less of the bandwidth, and the busiest
                        member sends more */
    double sent_B;   /* by each member, the mean */
} ms_exchange;

typedef struct ms_message {
    int source, destination; /* GPUs */
    int family;
} ms_message;

typedef void ms_message_visit(void *context, const ms_message *message);

/* Messages that run together: visit(source, each, context) calls each(context, message) for every
 * one, always in the same order. */
typedef struct ms_message_set {
    const ms_platform *platform;
    double message_B[MS_FAMILY_COUNT];
    double slowness[MS_FAMILY_COUNT]; /* as in ms_flow */
    void (*visit)(const void *source, ms_message_visit *each, void *context);
    const void *source;
    const int *gpus; /* [members] by node, where each of them sends one message to each other one,
                        all of the first family; NULL: another set */
    int members;
} ms_message_set;

/* Lay out an all-to-all request of >= 2 members.  *exchange_out: in `arena`.  Returns MS_OK;
 * MS_E_NOMEM.  O(members) (see ms_node_order_find). */
ms_status ms_exchange_init(const ms_platform *platform, const ms_coll_request *request,
                           ms_arena *arena, ms_exchange *exchange_out);

/* The messages of an all-to-all.  exchange: lasts as long.  To visit each is O(members^2). */
ms_message_set ms_exchange_messages(const ms_exchange *exchange);

#endif
