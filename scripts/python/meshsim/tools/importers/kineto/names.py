"""What names in a trace say: of kernels (the only thing that every trace has of them), collectives, types of elements and operators."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, List, Optional, Sequence, Tuple

from meshsim.tools.importers.source import table

GEMM, ATTENTION, ELEMENTWISE, EMBEDDING, LOSS, OPTIMIZER, OTHER, COMMUNICATION, COPY = range(9)
CLASSES = ("gemm", "attention", "elementwise", "embedding", "loss", "optimizer", "other", "communication", "copy")
COMPUTE = CLASSES[:COMMUNICATION]
"""The classes that are computation."""

@lru_cache(maxsize=None)
def _table(name: str) -> Any:
    """A table of names.yaml."""
    return table("importers/kineto/names.yaml")[name]


def _first(rows: str, name: str, default: Any) -> Any:
    """The value of the first row of a table of which the name has a part."""
    name = name.lower()
    return next((value for value, parts in _table(rows) if any(part in name for part in parts.split())), default)


def class_of(kernel: str) -> int:
    """Class of a kernel by its name; OTHER: no rule knows it."""
    return CLASSES.index(_first("kernels", kernel, CLASSES[OTHER]))


def kind_of(name: str) -> str:
    """Kind of a collective; "other": none that is simulated."""
    return str(_first("collectives", name, "other"))


def type_B(name: str) -> int:
    """Bytes of an element of a type; 0: unknown."""
    return int(_first("types", name, 0))


# ---- operators, and which of their inputs have the sizes ----

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
    return operator in _table("products") or operator in _table("attentions")


def work_of(operator: str, inputs: Inputs) -> Work:
    """What such an operator computes."""
    return _product(operator, inputs) if operator in _table("products") else _attention(operator, inputs)


def _typed(kernel: str, sizes: Sequence[int], type_name: str, why: Optional[str]) -> Work:
    """Times in a table are those of operands of 16 bits."""
    fault = None if type_B(type_name) == 2 else "not of 16 bits" if type_name else "its type is not recorded"
    return kernel, "x".join(map(str, sizes)), type_name, why or fault


def _product(operator: str, inputs: Inputs) -> Work:
    first, rank = _table("products")[operator]
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
    first, causal, has_heads_first = _table("attentions")[operator]
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

def axis_of(group: str) -> Optional[str]:
    """Axis that a group's maker names it after; None: none."""
    words = group.lower().translate(str.maketrans("- :.", "____")).split("_")
    return next((axis for axis, known in _table("axes").items() if set(known.split()) & set(words)), None)
