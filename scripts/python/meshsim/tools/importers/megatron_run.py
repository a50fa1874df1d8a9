"""One translation of Megatron-LM's arguments: arguments asked for, keys set, and what became of each argument.

Source: Megatron-LM, megatron.training.arguments, and the parsers that megatron_arguments.yaml names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Callable, List, Optional, Sequence, Tuple, TypeVar

from .._call import Place
from .megatron_arguments import MEMORY, NOTHING, SIZE, TIME, Flag, Software, Tables, may_be_size
from .megatron_values import Bad

ENV, LAUNCHER = "env ", "launcher "
"""before the name of an environment variable, and of an argument of torchrun or srun"""
USED, IGNORED, DIFFERENT, UNKNOWN = "used", "ignored", "different", "unknown"
COUNT_MAX = 10**9
IN_ANY_CASE, NO_CHANGE = "it is simulated so in any case", "it changes nothing in this job"

# Values that say more than the argument alone.
VALUES = [("--moe-flex-dispatcher-backend", "hybridep", MEMORY, "the dispatcher's buffers hold no memory"),
          ("--moe-flex-dispatcher-backend", "deepep", TIME, "tokens go by plain all-to-alls"),
          ("--moe-token-dispatcher-type", "allgather", TIME, "tokens go by all-to-alls, not by gathers"),
          ("--position-embedding-type", "none", TIME, "queries and keys are rotated"),
          ("--position-embedding-type", "relative", TIME, "queries and keys are rotated, without a bias")]
# Keys that no argument of Megatron-DeepSpeed says: its code and DeepSpeed's engine do, and so its profile.
ENGINES_KEYS = {"model.fused_accumulation", "model.separate_dropout", "data_parallel.overlap_reduce", "data_parallel.overlap_gather", "precision.gradients",
                "memory.libraries", "memory.buffers"}
# Arguments of before sequence parallelism, of 2021 and 2022.  Source: Megatron-LM 2.x and 3.0, megatron.arguments (they were renamed later).
OLD_ARGUMENTS = ("--checkpoint-activations", "--activations-checkpoint-method", "--DDP-impl")
LAUNCH_BLOCKING = ENV + "CUDA_LAUNCH_BLOCKING"  # with "1" a launch of a kernel waits for its end.  Source: CUDA C++ programming guide
T = TypeVar("T")
Pairs = Sequence[Tuple[str, str, Optional[str], Optional[str], int]]
"""[argument, key, the key's value where a switch is given (None: the argument's value is the key's, a count), without it (None: not set), least of a count]"""


@dataclass
class Argument:
    """An argument as it was given, in Megatron-LM's words whatever it was read from."""

    name: str
    """"--num-layers"; "env NAME" of a variable; "launcher --nnodes" """
    value: str = ""
    """several with blanks between them"""
    place: Optional[Place] = None
    use: str = UNKNOWN
    why: str = ""
    """of one that is used its keys"""
    effect: str = NOTHING
    """of one that is different: what it changes of a run"""


@dataclass(frozen=True)
class Setting:
    """A key of a workload."""

    key: str
    value: Optional[str]
    """YAML flow text; None: the arguments do not say it, it is required"""
    why: str = ""
    """of one that is required: what would say it"""
    place: Optional[Place] = None


@dataclass
class Job:
    """A job in keys of a workload."""

    software: Software
    framework: str = "megatron-core"
    """profile that its other choices come from"""
    gpus: int = 0
    """of all ranks; 0: nothing says how many"""
    settings: List[Setting] = field(default_factory=list)
    faults: List[Tuple[str, Optional[Place]]] = field(default_factory=list)
    """what is wrong, or cannot be simulated; with one there is no job"""


@dataclass(frozen=True)
class Facts:
    """What arguments leave to their surroundings."""

    framework: Optional[str] = None
    gpus: int = 0
    vocab: int = 0
    """padded"""
    global_batch: int = 0
    profile: Callable[[str], Tuple[bool, bool]] = lambda name: (False, True)
    """of a framework's name: whether it is before Transformer Engine, and whether it keeps a buffer of weight gradients"""


class Run:
    """One translation: arguments asked for, and keys set."""

    def __init__(self, arguments: List[Argument], tables: Tables, facts: Facts, software: Optional[Software]):
        self.arguments, self.tables, self.facts = arguments, tables, facts
        self.job = Job(software or tables.choose(argument.name for argument in arguments if argument.name.startswith("--")))
        self.last = {tables.usual(argument.name): argument for argument in arguments}
        self.is_old = self.has_zero = self.has_sequence = False
        self.has_gradient_buffer = True
        self.layers, self.tp, self.pp, self.cp, self.ep, self.vpp, self.experts = 0, 1, 1, 1, 1, 1, 0

    # what is known of each argument

    def classify(self) -> None:
        """Tell of each argument what it can be at most; what a part of the translation asks for is used."""
        for argument in self.arguments:
            argument.use, argument.why, argument.effect = UNKNOWN, "", NOTHING
            flag = self.tables.find(argument.name, self.job.software)
            if argument.name == LAUNCH_BLOCKING or argument.name.startswith(LAUNCHER):
                argument.use = IGNORED
            elif argument.name.startswith(ENV):
                argument.use, argument.why = IGNORED, "kernels, libraries and their algorithms are the profile's and the platform's"
            elif re.match(r"\$[@*]|\$\{@", argument.name):
                argument.use, argument.why = IGNORED, "what is added to a script where it is run is not in its file"
            elif argument.name.startswith("$"):
                argument.use, argument.why = IGNORED, f"it is not set here: --define {_variable(argument.name) or 'NAME'}=VALUE"
            elif flag is not None:
                self._classify_known(argument, flag)
            elif may_be_size(argument.name, argument.value):
                self.fault(None, f"{argument.name}: not known, and by its name it changes the size of the model, got '{argument.value}'", argument.place)
            if argument.use != UNKNOWN and not self._counts(argument):
                argument.use, argument.why, argument.effect = IGNORED, "it is given again behind", NOTHING

    def _counts(self, argument: Argument) -> bool:
        return self.last[self.tables.usual(argument.name)] is argument

    def _classify_known(self, argument: Argument, flag: Flag) -> None:
        is_harmless = bool(flag.harmless) and re.fullmatch(flag.harmless, argument.value) is not None
        argument.use, argument.why = IGNORED, flag.why or ""
        if flag.effect == SIZE and not is_harmless:
            if self._counts(argument):
                self.fault(None, f"{argument.name}: it is known and not built: the model has {flag.why}", argument.place)
        elif flag.effect != NOTHING and not is_harmless:
            argument.use, argument.effect = (DIFFERENT, flag.effect) if flag.why else (IGNORED, NOTHING)
            argument.why = flag.why or IN_ANY_CASE  # one without a reason is told of by its value
        elif flag.effect != NOTHING or flag.harmless:
            argument.why = IN_ANY_CASE

    def close(self) -> None:
        """Tell of values that say more than their argument, and of arguments that nobody asked for."""
        for name, value, effect, why in VALUES:
            if self.value(name) == value:
                self.differs(name, effect, why)
        for argument in self.arguments:
            if argument.use == IGNORED and not argument.why:
                argument.why = NO_CHANGE

    def choose_framework(self) -> None:
        """Choose the framework profile of the run: the user's; else Megatron-DeepSpeed's for fp16 or bf16 where --deepspeed stands; else megatron-lm-2021 where arguments of that time stand; else the usual one."""
        self.has_zero = self.given("--deepspeed")
        engines = "megatron-deepspeed-fp16" if self.given("--fp16") else "megatron-deepspeed"
        is_early = any([self.given(name) for name in OLD_ARGUMENTS])
        self.job.framework = self.facts.framework or (engines if self.has_zero else "megatron-lm-2021" if is_early else self.job.framework)
        self.is_old, self.has_gradient_buffer = self.facts.profile(self.job.framework)

    # arguments

    def get(self, name: str) -> Optional[Argument]:
        """The argument of a name that counts, now used; None: it was not given."""
        argument = self.last.get(name)
        if argument is not None and argument.use == IGNORED and not argument.why:
            argument.use = USED
        return argument

    def given(self, name: str) -> bool:
        return self.get(name) is not None

    def value(self, name: str) -> Optional[str]:
        """The value of an argument in Megatron-LM's spelling, or the default that the run's fork has for it; None: there is neither."""
        argument, software = self.get(name), self.job.software
        own = next((fork for fork, usual in software.same_as.items() if usual == name), name)
        value = argument.value if argument else software.defaults.get(own, software.defaults.get(name))
        return software.spellings.get(name, {}).get(value, value) if value is not None else None

    def words(self, name: str) -> List[str]:
        """The values of an argument that takes several."""
        return (self.value(name) or "").split(" ")

    def count(self, name: str, least: int, fallback: int) -> int:
        """The value of an argument as a count; `fallback` where the argument is not given, and, with an error told, where it is no count of `least` or more."""
        value = self.value(name)
        if value is None:
            return fallback
        if not re.fullmatch(r"\d{1,18}", value, re.A) or not least <= int(value) <= COUNT_MAX:
            self.fault(name, f"expected a count of {least} or more, got '{value}'{_how_to_say(value)}")
            return fallback
        return int(value)

    def number(self, name: str, fallback: float) -> float:
        """The value of an argument as a number of 0 or more; `fallback` where the argument is not given; an error is told where it is no such number."""
        value = self.value(name)
        try:
            number = float(value) if value is not None and "_" not in value else fallback if value is None else -1.0
        except ValueError:
            number = -1.0
        if not 0 <= number < float("inf"):
            self.fault(name, f"expected a number of 0 or more, got '{value}'")
            return fallback
        return number

    def parsed(self, name: str, read: Callable[[str], T]) -> Optional[T]:
        """Its value in a language of its own; None: it is none (a fault)."""
        try:
            return read(self.value(name) or "")
        except Bad as bad:
            self.fault(name, str(bad))
            return None

    def fault(self, name: Optional[str], message: str, place: Optional[Place] = None) -> None:
        """What is wrong; name: with which argument."""
        argument = self.get(name) if name else None
        shown = argument.name if argument else name
        self.job.faults.append((f"{shown}: {message}" if name else message, argument.place if argument else place))

    def differs(self, name: str, effect: str, why: str) -> None:
        """Say that an argument has no counterpart, or not its whole meaning."""
        argument = self.get(name)
        if argument is not None:
            argument.use, argument.effect, argument.why = DIFFERENT, effect, why

    # keys

    def set(self, key: str, names: str, value: object) -> None:
        """Set a key.  names: the arguments that decided it, with blanks between them."""
        text = str(value).lower() if isinstance(value, bool) else f"{value:.15g}" if isinstance(value, float) else str(value)
        place = None
        for name in re.findall(r"(?:launcher |env )?\S+", names):
            argument = self.last.get(name)
            if argument is not None and argument.use == USED:
                argument.why += (", " if argument.why else "") + key
            place = place or (argument.place if argument else None)
        if not (self.has_zero and key in ENGINES_KEYS):
            self.job.settings.append(Setting(key, text, place=place))

    def pairs(self, pairs: Pairs, beside: str = "") -> None:
        """Set the keys of a list of pairs.  beside: an argument that asks for the count of more than 0 that has a default."""
        for name, key, value, otherwise, least in pairs:
            if value is not None:
                found = value if self.given(name) else otherwise
            else:
                number = self.count(name, least, -1)
                found = otherwise if number < 0 else str(number)
            if found is not None:
                self.set(key, f"{name} {beside}" if least and beside and name == "--kv-lora-rank" else name, found)

    def require(self, key: str, why: str) -> None:
        """Say that a key is required, as the arguments do not say it."""
        self.job.settings.append(Setting(key, None, why))

    def set_positive(self, key: str, name: str, least: int) -> int:
        """Set a key of the workload to the whole number of a command-line argument, if that is above 0.  Returns the number; 0: the argument is not given."""
        count = self.count(name, least, 0)
        if count > 0:
            self.set(key, name, count)
        return count

    def size(self, key: str, name: str) -> int:
        """A size that a job cannot do without; 0: it is not said."""
        size = self.set_positive(key, name, 1)
        if size == 0 and not self.given(name):
            self.require(key, name)
        return size

    # what several parts ask

    @property
    def is_half(self) -> bool:
        return any([self.given("--bf16"), self.given("--fp16")])

    @property
    def is_fsdp(self) -> bool:
        return self.given("--use-megatron-fsdp") or self.given("--use-custom-fsdp")

    def fp8_attention(self) -> Optional[str]:
        """The argument that has the attention multiply in fp8. Under delayed scaling both arguments reach Transformer Engine, where the second one
        brings the first with it; to the recipes of other scalings Megatron hands the first alone.
        Source: megatron.core.fp8_utils (get_fp8_recipe); Transformer Engine, DotProductAttention (fp8_mha forces fp8_dpa)."""
        is_delayed = (self.value("--fp8-recipe") or "delayed") == "delayed"
        multi, dot = "--fp8-multi-head-attention", "--fp8-dot-product-attention"
        name = multi if is_delayed and self.given(multi) else dot
        is_fp8 = self.given("--fp8-format") and not self.given("--fp4-format")
        return name if is_fp8 and self.given(name) else None


def _variable(text: str) -> str:
    """The variable that a text is; empty: it is none."""
    found = re.fullmatch(r"\$(?:(\w+)|\{(\w+)\})", text, re.A)
    return (found[1] or found[2]) if found else ""


def _how_to_say(value: str) -> str:
    if "$" not in value and "`" not in value:
        return ""
    name = _variable(value)
    return f", which the file does not set: --define {name}=VALUE" if name else ", which the file does not set"
