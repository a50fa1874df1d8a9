"""`meshsim calibrate`: parameters of a platform fitted to measured collectives and kernels.

Parameters are keys of the platform's, its GPU type's and its library's files, each with the range that is plausible for it. They are fitted by least
squares of the logarithms of predicted over measured times; a third of the points, by the checksums of their names, is left out and says how good the
fit is elsewhere. The program says every time (`meshsim times`).
"""

from __future__ import annotations

import json
import math
import os
import re
import zlib
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Sequence

from . import measured
from ._call import USAGE, Call, check_targets, nearest, need, plain, print_json, print_page, write_file
from ._describe import JSON, SET_PLATFORM, Command, Option

COMMAND = Command(
    "fit parameters of a platform to measurements of your own", "[LOG...]", 0, 1000,
    "Fits bandwidths, latencies and launches of a platform and its library to logs of nccl-tests (or what else `validate` reads as collectives), and efficiencies of its GPU "
    "type to a table of measured kernels, by least squares of the logarithms of times. A third of the points, by the checksums of their names, is left out and says how good "
    "the fit is elsewhere. Prints what moved; -o writes a platform file that names the platform as its base and has the fitted keys alone, for `run --platform`.",
    "meshsim calibrate workloads/validation/allreduce_a100.csv --system a100 --platform dgx-a100",
    (Option("platform", "platform file, or the name of one, to calibrate", "P.yaml"), SET_PLATFORM,
     Option("kernels", "measured kernels, as a GPU type's `measured` names them: kernel,shape,time; gemm, memory and attention count", "TABLE.csv"),
     Option("system", "points of this system alone, where files have several", "NAME"),
     Option("fit", "fit this key, such as tiers.nvlink.efficiency; without it all that the points depend on", "KEY", repeatable=True),
     Option("output", "write a platform file: its base and the fitted keys", "FILE", letter="o", writes=".yaml"),
     Option("name", "of that platform", "NAME", fallback="the platform's, with -calibrated"), Option("force", "overwrite a file that is there"), JSON))

# Ranges: shares of a data sheet's figure from a twentieth on; latencies and launches from a tenth of a microsecond to what a slow Ethernet switch or a
# busy host takes; ramps from one chunk of NCCL to the largest messages that anybody measures. Each: unit in files, from, to, whether it is looked
# for by its logarithm.
SHARE, TURN, DEPTH = ("", 0.05, 1.0, False), ("", 0.0, 1.0, False), ("", 1.0, 5000.0, True)
LATENCY, LAUNCH, RAMP_TIME, RAMP_SIZE = ("us", 10e-9, 1e-3, True), ("us", 0.1e-6, 1e-3, True), ("us", 1e-6, 1e-2, True), ("B", 65536.0, 2.0**36, True)
RANGES = {
    r"gpu": {"gemm_efficiency": SHARE, "gemm_depth_half": DEPTH, "memory_efficiency": SHARE, "kernel_launch": LAUNCH, "attention_efficiency": SHARE,
             "attention_backward_efficiency": SHARE},
    r"tiers\.[^.]+": {"efficiency": SHARE, "latency": LATENCY},
    r"library\.generations\.[^.]+": {"overhead": LAUNCH, "ring_turn": TURN, "nvls_share": SHARE, "ramp_time": RAMP_TIME, "ramp_size": RAMP_SIZE}}
"""by pattern of the key above and key"""
SIZES = {"gemm": ("m", "n", "k", "count"), "memory": ("bytes",),
         "attention": ("batch", "sequence", "heads", "kv_heads", "query", "value"),
         "attention_backward": ("batch", "sequence", "heads", "kv_heads", "query", "value")}
"""kernels that count, in the order of their points, and what `meshsim times` calls their sizes"""
MOVE_MIN, MOVE = 1e-6, 0.05
"""a parameter moves a prediction if a twentieth of its range changes it by more"""
STEP, STEPS_MAX, TOLERANCE = 1e-5, 200, 1e-12
"""of a range, for derivatives; of the search"""
BOUND = 1e-6
"""of a range: nearer to its end is at it"""


@dataclass
class Parameter:
    """A key that can be calibrated."""

    key: str
    unit: str
    low: float
    high: float
    is_logarithmic: bool
    before: float
    place: str
    """"file:line" of the value before; "" where it is a default"""
    after: float = math.nan

    def at(self, place: float) -> float:
        """The value at a place of the range, 0 to 1."""
        return self.low * (self.high / self.low) ** place if self.is_logarithmic else self.low + place * (self.high - self.low)

    def place_of(self, value: float) -> float:
        """Where in its range a value is."""
        value = min(max(value, self.low), self.high)
        return math.log(value / self.low) / math.log(self.high / self.low) if self.is_logarithmic else (value - self.low) / (self.high - self.low)

    def set(self, value: float) -> str:
        """The override that gives it a value."""
        return f"{self.key}={value!r}{' s' if self.unit == 'us' else ' B' if self.unit else ''}"

    def text(self, value: float) -> str:
        """A value with its unit, as a platform's file has it."""
        return "%.5g us" % (1e6 * value) if self.unit == "us" else "%.0f B" % value if self.unit else "%.5g" % value


@dataclass
class Point:
    """What was measured, and what is predicted of it."""

    name: str
    measured_s: float
    asked: Dict[str, Any]
    """as `meshsim times` takes it"""
    before_s: float = math.nan
    after_s: float = math.nan

    @property
    def is_left_out(self) -> bool:
        return zlib.crc32(self.name.encode("utf-8", "surrogateescape")) % 3 == 0


class Model:
    """The program's times of the points on one platform."""

    def __init__(self, call: Call, platform: str, sets: Sequence[str]):
        self.call, self.words = call, ["times", "-", "--platform", platform, *(f"--set={word}" for word in sets)]
        self.points: List[Point] = []

    def ask(self, variants: Iterable[Sequence[str]] = ((),)) -> Any:
        """What the program says of the points, on each of some variants of the platform."""
        tree = {"points": [point.asked for point in self.points], "variants": [list(sets) for sets in variants]}
        return self.call.ask(*self.words, text=json.dumps(tree))

    def times(self, variants: Iterable[Sequence[str]]) -> List[List[float]]:
        return [[math.inf if time_s is None else time_s for time_s in row] for row in self.ask(variants)["times_s"]]


# ---- what is fitted, and to what ----

def parameters_of(keys: Dict[str, Any]) -> List[Parameter]:
    """The keys of a platform that can be calibrated, from its numbers as the program says them. Of tiers those count that have a bandwidth, since nothing
    of others can be told from times."""
    above = dict.fromkeys(key.rpartition(".")[0] for key in keys)
    return [Parameter(f"{parent}.{name}", *ranges[name], keys[f"{parent}.{name}"]["value"], keys[f"{parent}.{name}"]["place"])
            for pattern, ranges in RANGES.items() for parent in above if re.fullmatch(pattern, parent)
            for name in ranges if not parent.startswith("tiers.") or f"{parent}.bandwidth" in keys]


def _collectives(call: Call, gpus: int) -> List[Point]:
    """The points of the files; all are of one system."""
    wanted, system = call.value("system"), ""
    points: List[Point] = []
    for one in measured.read_all(call, call.arguments):
        if wanted is not None and one.system != wanted:
            continue
        system = system or one.system
        if one.system != system:
            call.refuse(f"collectives of '{system}' and of '{one.system}'; --system takes one of them")
        if one.ranks > gpus:
            call.refuse(f"{one.kind} among {one.ranks} GPUs of '{one.system}', and the platform has {gpus}; --set platform.nodes=N takes more")
        points.append(Point(f"{one.kind}/{one.ranks}/{one.size_B:.0f}", one.measured_s, {"kind": one.kind, "gpus": one.ranks, "bytes": f"{one.size_B!r} B"}))
    return points


def _kernels(rows: Sequence[Dict[str, Any]]) -> List[Point]:
    """The points of a table of kernels, as the program read it."""
    points = []
    for kind, names in SIZES.items():
        for row in (row for row in rows if row["kind"] == kind):
            sizes = [f"{size} B" for size in row["sizes"]] if kind == "memory" else row["sizes"]
            points.append(Point(f"{kind}/" + "x".join(f"{size:.0f}" for size in row["sizes"]), row["time_s"], {"kind": kind, **dict(zip(names, sizes))}))
    return points


def _choose(model: Model, known: List[Parameter]) -> List[Parameter]:
    """The parameters to fit: those that --fit names, or all that move a prediction of any point."""
    call, named = model.call, model.call.values("fit")
    by_key = {parameter.key: parameter for parameter in known}
    candidates = [by_key[key] for key in named if key in by_key] if named else known
    moved = [parameter.at(place - MOVE if place > 0.5 else place + MOVE) for parameter in candidates for place in [parameter.place_of(parameter.before)]]
    before, *after = model.times([[], *([parameter.set(value)] for parameter, value in zip(candidates, moved))])
    for point, time_s in zip(model.points, before):
        point.before_s = time_s
    moving = {parameter.key for parameter, times in zip(candidates, after) if any(abs(t - b) > MOVE_MIN * b for t, b in zip(times, before))}
    for key in named:
        if key not in by_key:
            near = nearest(key, by_key)
            call.refuse(f"no parameter '{key}' can be calibrated" + (f"; did you mean '{near}'?" if near else ""))
        if key not in moving:
            call.refuse(f"no point depends on '{key}'")
    return [parameter for parameter in candidates if parameter.key in moving]


# ---- the fit ----

def _fit(model: Model, fitted: List[Parameter]) -> None:
    """Least squares of the logarithms of predicted over measured times, of the points that are not left out."""
    np, optimize = need(model.call, "numpy", "scipy.optimize")
    counted = [i for i, point in enumerate(model.points) if not point.is_left_out]
    if len(counted) < len(fitted) or not counted:
        model.call.refuse(f"{len(counted)} points to fit to (of {len(model.points)}, a third is left out) are too few for {len(fitted)} parameters")
    if not fitted:
        model.call.refuse("the points depend on no parameter that can be calibrated")
    endless = next((point.name for point in model.points if not 0 < point.before_s < math.inf), None)
    if endless is not None:
        model.call.refuse(f"'{endless}' takes no time, or has no end, on this platform, so that nothing can be fitted to it")
    wanted = np.array([model.points[i].measured_s for i in counted])

    def residuals(*places: Any) -> Any:
        times = model.times([[parameter.set(parameter.at(float(x))) for parameter, x in zip(fitted, row)] for row in places])
        return [np.log(np.array(row)[counted] / wanted) for row in times]

    def jacobian(x: Any) -> Any:
        steps = np.where(x + STEP <= 1, STEP, -STEP)
        at, *moved = residuals(x, *(x + np.diag(steps)))
        return (np.array(moved) - at).T / steps

    start = np.array([parameter.place_of(parameter.before) for parameter in fitted])
    # the sum has several minima where kinds of algorithms change places; neither method finds the lowest one always
    found = min((optimize.least_squares(lambda x: residuals(x)[0], start, jacobian, bounds=(0, 1), method=method, x_scale=scale, xtol=TOLERANCE, ftol=TOLERANCE,
                                        gtol=TOLERANCE, max_nfev=STEPS_MAX) for method, scale in (("trf", 1.0), ("dogbox", "jac"))), key=lambda found: found.cost)
    ends = np.where(found.x < BOUND, 0.0, np.where(found.x > 1 - BOUND, 1.0, found.x))
    for parameter, x in zip(fitted, ends):
        parameter.after = parameter.at(float(x))
    for point, time_s in zip(model.points, model.times([[parameter.set(parameter.after) for parameter in fitted]])[0]):
        point.after_s = time_s


# ---- results ----

def _errors(points: List[Point]) -> Dict[str, float]:
    """Mean and largest absolute error of some points."""
    before = [abs(point.before_s / point.measured_s - 1) for point in points]
    after = [abs(point.after_s / point.measured_s - 1) for point in points]
    count = len(points)
    return {"points": count, "mean_abs_error_before": sum(before) / count if count else math.nan, "mean_abs_error": sum(after) / count if count else math.nan,
            "worst_abs_error_before": max(before, default=0), "worst_abs_error": max(after, default=0)}


def _is_at_bound(parameter: Parameter) -> bool:
    return not BOUND <= parameter.place_of(parameter.after) <= 1 - BOUND


def page(fitted: List[Parameter], errors: Dict[str, Dict[str, float]]) -> str:
    """The page for people."""
    text = "parameter                                 before        after  from\n"
    for p in fitted:
        text += f"{p.key:<36} {p.text(p.before):>12} {p.text(p.after):>12}  {p.place}".rstrip() + "\n"
    text += "\npoints            mean %              worst %\n                   before    after    before    after\n"
    for name, e in errors.items():
        if e["points"]:
            count, *shares = e.values()
            text += "%-10s %6d %9.1f %8.1f %9.1f %8.1f\n" % (name, count, *(100 * share for share in shares))
    return text + "".join(f"! {p.key} is at the end of its range: something else is missing\n" for p in fitted if _is_at_bound(p))


def tree(fitted: List[Parameter], errors: Dict[str, Dict[str, float]], points: List[Point]) -> Dict[str, Any]:
    """What --json prints."""
    rows = [{"key": p.key, "before": plain(p.before), "after": plain(p.after), "low": plain(p.low), "high": plain(p.high), "at_bound": _is_at_bound(p),
             "place": p.place} for p in fitted]
    sums = {name.replace(" ", "_"): {key: plain(value) for key, value in e.items()} for name, e in errors.items()}
    return {"parameters": rows, **sums,
            "points": [{"name": p.name, "left_out": p.is_left_out, "measured_s": plain(p.measured_s), "before_s": plain(p.before_s),
                        "after_s": plain(p.after_s), "before_error": plain(p.before_s / p.measured_s - 1),
                        "after_error": plain(p.after_s / p.measured_s - 1)} for p in points]}


def platform_file(fitted: List[Parameter], errors: Dict[str, Dict[str, float]], base: str, name: str) -> str:
    """The platform that the fit makes: its base, its name, and the keys that were fitted."""
    inside, left = errors["fitted"], errors["left out"]
    text = ("# %s calibrated by meshsim to %d measured points: mean error %.1f %%, was %.1f %%;\n# on %d points left out %.1f %%, was %.1f %%.\n"
            % (base, inside["points"], 100 * inside["mean_abs_error"], 100 * inside["mean_abs_error_before"], left["points"], 100 * left["mean_abs_error"],
               100 * left["mean_abs_error_before"]))
    text += f"base: '{base}'\nname: '{name}'\n"
    open_keys: List[str] = []
    for p in fitted:
        *above, key = p.key.split(".")
        common = len(os.path.commonprefix([open_keys, above]))
        text += "".join(f"{'  ' * depth}{above[depth]}:\n" for depth in range(common, len(above)))
        text += f"{'  ' * len(above)}{key}: {p.text(p.after)}  # fit: was {p.text(p.before)}{f' ({p.place})' if p.place else ''}\n"
        open_keys = above
    return text


def run(call: Call) -> None:
    """The command."""
    name, table, path = call.value("platform"), call.value("kernels"), call.value("output")
    if name is None or not (call.arguments or table is not None):
        call.refuse("expected --platform P.yaml" if name is None else "expected logs of nccl-tests, or --kernels TABLE.csv", code=USAGE)
    check_targets(call, "output", force=call.has("force"))
    sets = call.values("set")
    beside = "" if table is None or "/" in table else "./"
    first = Model(call, name, sets if table is None else [*sets, f"gpu.measured='{beside}{table}'"]).ask()
    model = Model(call, name, sets)
    model.points = _collectives(call, first["gpus"]) + (_kernels(first["measured"]) if table is not None else [])
    fitted = _choose(model, parameters_of(first["keys"]))
    _fit(model, fitted)
    errors = {"fitted": _errors([p for p in model.points if not p.is_left_out]), "left out": _errors([p for p in model.points if p.is_left_out])}
    if path is not None:
        base = os.path.abspath(name) if os.path.exists(name) else name
        write_file(call, path, platform_file(fitted, errors, base, call.value("name") or first["platform"] + "-calibrated"))
    if call.has("json"):
        print_json(call, tree(fitted, errors, model.points))
    elif path != "-":
        print_page(call, page(fitted, errors))
