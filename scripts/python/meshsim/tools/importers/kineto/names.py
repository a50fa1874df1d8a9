"""What names in a trace say: of kernels (the only thing that every trace has of them), collectives, types of elements and operators."""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple

GEMM, ATTENTION, ELEMENTWISE, EMBEDDING, LOSS, OPTIMIZER, OTHER, COMMUNICATION, COPY = range(9)
CLASSES = ("gemm", "attention", "elementwise", "embedding", "loss", "optimizer", "other", "communication", "copy")
COMPUTE = CLASSES[:COMMUNICATION]
"""The classes that are computation."""

# Parts of kernels' names, in small letters; the first one that a name has decides. Templates name what they are made for, so that the narrower word comes
# first: FlashAttention is made of CUTLASS, a rotary embedding is no embedding. Sources: kernels of PyTorch (ATen/native/cuda), cuBLAS (nvjet, xmma, cutlass,
# gemv), cuDNN (convolutions: bn_fw, cudnn_128), FlashAttention, Transformer Engine (common/), Apex (csrc/), NCCL (src/device), Triton's names of Inductor
# (triton_poi_, triton_red_, triton_per_, triton_tem_), Tensile (Cijk_).
_KERNELS: Tuple[Tuple[int, str], ...] = (
    (COMMUNICATION, "nccl rccl nvshmem deep_ep userbuffers multimem_all one_shot_all_reduce two_shot_all_reduce cross_device_reduce"),
    (OPTIMIZER, "multi_tensor_apply adam l2norm muon"),
    (ELEMENTWISE, "rotary rope"),
    (ATTENTION, "flash fmha attention attn sdpa masked_softmax"),
    (LOSS, "cross_entropy crossentropy nll_loss nllloss logsoftmax log_softmax"),
    (EMBEDDING, "embedding indexselect vectorized_gather compute_grad_weight sum_and_scatter krn_partial"),
    (ELEMENTWISE, "norm_ layernorm layer_norm rmsnorm rms_norm ln_fwd ln_bwd bn_fw bn_bw"),
    (GEMM, "cudnn_128 winograd convolve wgrad dgrad gemm nvjet xmma cutlass cublas splitk gemv cijk_ matmul grouped_mm triton_tem_fused_mm"
           " triton_tem_fused_addmm triton_tem_fused_bmm"),
    (ELEMENTWISE, "elementwise triton_poi triton_red triton_per vectorized unrolled reduce catarray copy cast transpose dropout gelu silu swiglu relu gated"
                  " softmax permute scatter gather index topk sort scan fill amax quantize"),
)

# Likewise. The first names are those that c10d's ProcessGroupNCCL gives record_param_comms, the others parts of NCCL's kernels. Values: meshsim's kinds.
_COLLECTIVES = (("reduce_scatter", "reduce_scatter reducescatter"), ("all_reduce", "allreduce all_reduce"), ("all_gather", "allgather all_gather"),
                ("all_to_all", "all_to_all alltoall"), ("broadcast", "broadcast"), ("p2p", "send recv"))

# Bytes of an element. Source: c10's names of scalar types, and CUDA's in kernels' operators.
_TYPES = ((1, "float8"), (2, "bfloat16 half"), (8, "double long"), (4, "float"), (2, "short"), (1, "byte char bool"), (4, "int"))


def _first(rows: Sequence[Tuple[object, str]], name: str, default: object) -> object:
    name = name.lower()
    return next((value for value, parts in rows if any(part in name for part in parts.split())), default)


def class_of(kernel: str) -> int:
    """Class of a kernel by its name; OTHER: no rule knows it."""
    return _first(_KERNELS, kernel, OTHER)  # type: ignore[return-value]


def kind_of(name: str) -> str:
    """Kind of a collective; "other": none that is simulated."""
    return _first(_COLLECTIVES, name, "other")  # type: ignore[return-value]


def type_B(name: str) -> int:
    """Bytes of an element of a type; 0: unknown."""
    return _first(_TYPES, name, 0)  # type: ignore[return-value]


# ---- operators, and which of their inputs have the sizes ----
# Source: PyTorch, aten/src/ATen/native/native_functions.yaml (the order of an operator's arguments is that of `Input Dims`); FlashAttention,
# flash_attn/flash_attn_interface.py, for its own.

# C = A B: index of A, behind which B stands, and how many sizes both have.
_PRODUCTS = {"aten::mm": (0, 2), "aten::addmm": (1, 2), "aten::bmm": (0, 3), "aten::baddbmm": (1, 3)}

# Index of the queries, behind which keys and values stand; of whether the mask is causal; whether sizes are [batch, heads, sequence, size], else heads come third.
_ATTENTIONS = {
    "aten::_flash_attention_forward": (0, 8, False),
    "aten::_flash_attention_backward": (1, 11, False),
    "aten::_scaled_dot_product_flash_attention": (0, 4, True),
    "aten::_scaled_dot_product_flash_attention_backward": (1, 11, True),
    "aten::_scaled_dot_product_cudnn_attention": (0, 6, True),
    "aten::_scaled_dot_product_cudnn_attention_backward": (1, 14, True),
    "aten::_cudnn_attention_forward": (0, 10, True),
    "aten::_cudnn_attention_backward": (1, 14, True),
    "flash_attn::_flash_attn_forward": (0, 5, False),
    "flash_attn::_flash_attn_backward": (1, 11, False),
}

Sizes = Optional[List[int]]  # of a tensor; None: not a tensor, or of more than four sizes
Work = Tuple[str, str, str, Optional[str]]
"""A matrix product or an attention: kernel (gemm, attention, attention_backward), shape as a table of measured kernels has it, or the operator's name where
it has no sizes; type of the operands; why no such table takes it, None: it does."""


class Inputs:
    """`Input Dims`, `Input type` and `Concrete Inputs` of an operator, of which the first 16 are looked at."""

    def __init__(self, dims: List[Sizes], types: List[str], values: List[str]):
        self.dims, self.types, self.values = dims, types, values

    def sizes(self, index: int, rank: int) -> Sizes:
        """Sizes of an input; None: not recorded, or not so many, or one is 0."""
        sizes = self.dims[index] if index < len(self.dims) else None
        return sizes if sizes is not None and len(sizes) == rank and min(sizes) >= 1 else None

    def type(self, index: int) -> str:
        return self.types[index] if index < len(self.types) else ""

    def value(self, index: int) -> str:
        return self.values[index] if index < len(self.values) else ""


def is_work(operator: str) -> bool:
    """Whether an operator is a matrix product or an attention."""
    return operator in _PRODUCTS or operator in _ATTENTIONS


def work_of(operator: str, inputs: Inputs) -> Work:
    """What such an operator computes."""
    return _product(operator, inputs) if operator in _PRODUCTS else _attention(operator, inputs)


def _typed(kernel: str, sizes: Sequence[int], type_name: str, why: Optional[str]) -> Work:
    """Times in a table are those of operands of 16 bits."""
    fault = None if type_B(type_name) == 2 else "not of 16 bits" if type_name else "its type is not recorded"
    return kernel, "x".join(map(str, sizes)), type_name, why or fault


def _product(operator: str, inputs: Inputs) -> Work:
    first, rank = _PRODUCTS[operator]
    a, b = inputs.sizes(first, rank), inputs.sizes(first + 1, rank)
    if a is None or b is None:
        return "gemm", operator, "", "its sizes are not recorded (record_shapes=True does)"
    if a[-1] != b[-2] or a[:-2] != b[:-2]:
        return "gemm", operator, "", "its operands do not fit together"
    bias = inputs.dims[0]
    # the bias of a layer is a row, which the product's kernel adds for nothing
    is_matrix = first == 1 and bias is not None and len(bias) >= rank
    return _typed("gemm", [a[-2], b[-1], b[-2], *a[:-2]], inputs.type(first), "it adds a whole matrix" if is_matrix else None)


def _attention(operator: str, inputs: Inputs) -> Work:
    first, causal, has_heads_first = _ATTENTIONS[operator]
    kernel = "attention_backward" if first == 1 else "attention"
    q, k, v = (inputs.sizes(first + i, 4) for i in range(3))
    if q is None or k is None or v is None:
        return kernel, operator, "", "its sizes are not recorded, or those of packed sequences"
    sequence, heads = (2, 1) if has_heads_first else (1, 2)
    mask = inputs.value(causal)
    why = ("queries and keys differ in number" if q[sequence] != k[sequence] else "its mask is not recorded" if not mask
           else "its mask is not causal" if mask != "True" else None)
    return _typed(kernel, [q[0], q[sequence], q[heads], k[heads], q[3], v[3]], inputs.type(first), why)


# ---- process groups ----

# Sources: Megatron Core, parallel_state.py ("TENSOR_MODEL_PARALLEL_GROUP", "DATA_PARALLEL_GROUP_WITH_CP"); PyTorch's DeviceMesh ("mesh_dp_shard") and default
# group ("default_pg"). The data parallel groups of others stand first: they are of two axes.
_AXES: Dict[str, str] = {word: axis for axis, words in (
    ("dp", "data dp fsdp optimizer"), ("pp", "pipeline pp embedding"), ("ep", "expert ep"), ("cp", "context cp"), ("tp", "tensor tp"),
    ("other", "default world model")) for word in words.split()}


def axis_of(group: str) -> Optional[str]:
    """Axis that a group's maker names it after; None: none."""
    words = group.lower().translate(str.maketrans("- :.", "____")).split("_")
    return next((axis for word, axis in _AXES.items() if word in words), None)
