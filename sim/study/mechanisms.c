/* Mechanisms of the cost model and what switches each of them off. */
#include "meshsim/ablation.h"

const ms_mechanism MS_MECHANISMS[] = {
    /* kernels */
    {"attention generation", {"model.attention=fused"}}, /* as the GPU type's own kernel */
    {"eager kernels", {"model.kernels=fused"}},
    {"accumulation kernel", {"model.fused_accumulation=true"}},
    {"two-pass norms", {"model.two_pass_norms=false"}},
    {"separate dropout", {"model.separate_dropout=false"}},
    {"cast gradients", {"model.cast_gradients=false"}},
    {"loss kernels", {"model.loss=vocab_parallel"}},
    {"bandwidth of the loss", {"platform.gpu.loss_efficiency=1"}},
    {"metrics of the loss", {"model.loss_metrics=0"}},
    {"projections apart", {"model.projections=merged"}},
    {"complex rotary embedding", {"model.complex_rotary=false"}},
    {"heads repeated", {"model.repeat_key_values=false"}},
    {"copies of sharded units", {"data_parallel.units=in_place"}},
    {"kernels beside the update", {"data_parallel.update=fused"}},
    {"search for experts", {"platform.gpu.top_k_search=0 s"}}, /* of a router; it reads them */
    {"experts' calls", {"platform.gpu.expert_call=0 s", "platform.gpu.expert_exposed=0"}},
    {"GEMM depth", {"platform.gpu.gemm_depth_half=0"}},
    {"GEMM tiles and waves", {"platform.gpu.tile_m=1", "platform.gpu.tile_n=1"}},
    {"GEMM alignment", {"platform.gpu.gemm_unaligned=1"}},
    {"HBM efficiency", {"platform.gpu.memory_efficiency=1"}},
    {"kernel launch", {"platform.gpu.kernel_launch=0 s"}},
    {"power-limited clock", {"platform.gpu.sustained_clock=1"}},
    {"spread of GPUs", {"platform.gpu.spread=0"}},
    {"slow nodes", {"host.replaces_slow_nodes=true"}},
    {"fp8 products", {"precision.products=parameters"}},
    {"casts that transpose", {"precision.casts=streaming"}},
    {"host launches", {"host.launch=0 s"}},
    {"host waits", {"host.sync=[]"}},
    /* communication */
    {"NCCL tuning", {"platform.library=none"}}, /* rings at every size */
    {"overhead of a call",                      /* of collectives and messages, on the GPU */
     {"platform.library.generations.volta.overhead=0 s",
      "platform.library.generations.ampere.overhead=0 s",
      "platform.library.generations.hopper.overhead=0 s",
      "platform.library.generations.blackwell.overhead=0 s"}},
    {"channels of messages", {"pipeline.communicator=pair"}},
    {"NVLS", {"platform.nvls=false"}},
    {"achieved bandwidth", {"platform.tiers.*.efficiency=1"}},
    {"all-to-all bandwidth", {"platform.tiers.*.exchange_efficiency=1"}},
    {"link latency", {"platform.tiers.*.latency=0 s"}},
    {"link sharing", {"fidelity=analytic"}},
    {"compute slow-down", {"platform.gpu.compute_slowdown=1"}},
    {"SMs held by communication", {"schedule.communication_sms=0"}},
    {"blocking sends", {"schedule.sends=async"}},
    {"DTensor's copies", {"tensor_parallel.style=megatron"}},
    {0},
};
