/**
 * @file
 * What NCCL found in a machine: the XML file that NCCL_TOPO_DUMP_FILE makes it write.
 *
 * Source: NVIDIA/nccl, src/graph/xml.cc and src/graph/topo.cc.
 */
#ifndef MESHSIM_NCCL_TOPO_H
#define MESHSIM_NCCL_TOPO_H

#include <stdbool.h>

#include "meshsim/arena.h"
#include "meshsim/config.h"
#include "meshsim/decls.h"
#include "meshsim/diag.h"
#include "meshsim/source_keys.h"
#include "meshsim/status.h"

MS_BEGIN_DECLS

/** The GPUs of a machine, all alike. */
typedef struct ms_nccl_gpus {
    int count;
    int sm;              /**< compute capability, such as 90; 0: not said */
    long vendor, device; /**< of PCI, such as 0x10de and 0x2330; 0: not said */
    int links;           /**< of NVLink, of a GPU */
    bool has_switch;     /**< the links end at switches, not at other GPUs */
    double host_Bps;     /**< to the processor and back, each way; 0: not said */
    ms_mark mark;        /**< the first */
    ms_mark link_mark;   /**< the first of its links; without a file: none */
} ms_nccl_gpus;

/** The NICs of a machine, of the speed that most have. */
typedef struct ms_nccl_nics {
    int count;
    double speed_Bps; /**< of a port, or what its PCI link takes, if that is less */
    double port_Bps;  /**< of a port */
    double latency_s; /**< that its driver reports */
    bool has_gdr;     /**< GPUs' memory is read and written directly */
    bool has_sharp;   /**< the network reduces, and NCCL has the plug-in for it */
    int others;       /**< NICs of another speed, which are left out */
    ms_mark mark;     /**< the first */
} ms_nccl_nics;

/** A machine, or several that one NVLink switch system joins. */
typedef struct ms_nccl_machine {
    int hosts;
    ms_nccl_gpus gpus; /**< of all hosts */
    ms_nccl_nics nics; /**< of all hosts */
    bool has_amd_cpu;
    ms_mark cpu_mark; /**< the first; without a file where no maker is said */
} ms_nccl_machine;

/** Read a file of NCCL_TOPO_DUMP_FILE.
 *  text: its name must outlive the marks.  keys: what became of its attributes; NULL: nobody asks.
 * Returns MS_OK; MS_E_INPUT (reported) for what is no such file, or GPUs that are not alike;
 * MS_E_NOMEM (reported). */
ms_status ms_nccl_topo_read(const ms_text *text, ms_arena *arena, ms_diag *diag,
                            ms_source_keys *keys, ms_nccl_machine *machine_out);

MS_END_DECLS

#endif
