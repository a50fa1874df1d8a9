"""What a trace says, for people."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from meshsim.tools._units import duration
from meshsim.tools.importers.kineto.trace import Row, Trace

_STEPS_SHOWN, _KERNELS_SHOWN, _CHANNELS_SHOWN, _SHAPES_SHOWN = 20, 15, 30, 5
_SHORT_NAME, _LONG_NAME, _SHORT_GROUP = 34, 74, 20  # letters of a kernel's name in its line, in a line of its own, and of a group's
_DUST_s = 1e-9  # shorter than what a profiler's clock tells apart


def _time(time_s: Optional[float]) -> str:
    return "-" if time_s is None else duration(time_s)


def _more(rows: List[Row], shown: int, where: str = "--json has") -> List[str]:
    return [f"... and {len(rows) - shown} more, which {where}"] if len(rows) > shown else []


def _ranks(trace: Trace) -> List[str]:
    lines = []
    for row in trace.ranks:
        rank = f"rank {row['rank']} of {row['world_size']}, " if row["rank"] >= 0 else ""
        device = f"{row['device']}, " if row["device"] else ""
        lines.append(f"{row['file']:<16} {rank}{device}{row['kernels']} events of the GPU,")
        if row["steps"] == 0:
            lines.append("    no annotations ProfilerStep: from the first to the last one")
        else:
            lines.append(f"    {row['steps']} step{'s' if row['steps'] > 1 else ''} by the {'GPU' if row['gpu_steps'] else 'host'}'s annotations, busy for "
                         f"{duration(row['outside_s'])} outside")
    return lines


def _mean(trace: Trace) -> List[str]:
    """Where the mean step's time went."""
    mean = trace.mean
    parts = [("computation", mean["compute_s"]), *((f"  {name}", time_s) for name, time_s in mean["class_s"].items() if time_s > 0),
             ("exposed", mean["exposed_s"]), ("copies", mean["copy_s"]), ("idle", mean["idle_s"])]
    share = 100 / mean["wall_s"] if mean["wall_s"] > 0 else 0
    return [f"{'step':<16} {duration(mean['wall_s']):>10}  mean of {len(trace.steps)}",
            *(f"{name:<16} {duration(time_s):>10}  {100 * time_s / mean['wall_s'] if share else 0:5.1f} %" for name, time_s in parts),
            f"the GPU was busy for {duration(mean['busy_s'])} and communicated for {duration(mean['communication_s'])} of it"]


def _steps(trace: Trace) -> List[str]:
    lines = ["", "rank  step       wall    compute    exposed     copies       idle  communication"]
    for row in trace.steps[:_STEPS_SHOWN]:
        times = " ".join(f"{duration(row[key]):>10}" for key in ("wall_s", "compute_s", "exposed_s", "copy_s", "idle_s"))
        lines.append(f"{row['rank']:>4} {row['step']:>5} {times} {duration(row['communication_s']):>14}")
    return lines + _more(trace.steps, _STEPS_SHOWN)


def _channels(trace: Trace) -> List[str]:
    lines = ["", "communication    group                size calls a step        busy     exposed"] if trace.channels else []
    for row in trace.channels[:_CHANNELS_SHOWN]:
        is_long = len(row["group"]) > _SHORT_GROUP
        lines += [f"group {row['group'][:_LONG_NAME]}"] if is_long else []
        lines.append(f"{row['kind']:<16} {'(above)' if is_long else row['group']:<20} {row['group_size']:>4} {row['count']:>12.6g} "
                     f"{duration(row['busy_s']):>11} {duration(row['exposed_s']):>11}")
    return lines + _more(trace.channels, _CHANNELS_SHOWN)


def _kernels(trace: Trace) -> List[str]:
    lines = ["", "class            calls      total       mean  kernel"]
    for row in trace.kernels[:_KERNELS_SHOWN]:
        name = row["name"]
        lines.append(f"{row['class']:<13} {row['count']:>8} {duration(row['total_s']):>10} {duration(row['mean_s']):>10}"
                     + (f"\n    {name[:_LONG_NAME]}" if len(name) > _SHORT_NAME else f"  {name}"))
    return lines + _more(trace.kernels, _KERNELS_SHOWN, "--json and --kernels have")


def _shapes(trace: Trace) -> List[str]:
    """What of products and attentions stands in the table of measured kernels, and what does not."""
    lines = ["", f"measured kernels {len(trace.measured())} of {len(trace.shapes)} shapes of matrix products and attentions"]
    for i, row in enumerate([row for row in trace.shapes if row["left_out"] is not None][:_SHAPES_SHOWN]):
        lines.append(f"{'' if i else 'left out':<9} {row['kernel']} {row['shape'][:40]}, {row['count']} calls:\n            {row['left_out']}")
    return lines


def _parts(parts: List[Row]) -> List[str]:
    lines = ["", "part                                    measured   predicted  difference  ratio"]
    for row in parts:
        difference_s = row["difference_s"] if abs(row["difference_s"]) >= _DUST_s else 0
        name = f"{'  ' * row['level']}{row['part'].split('.', 1)[-1]}"
        ratio = f"{row['ratio']:.3g}" if row["ratio"] is not None else "-"
        lines.append(f"{name:<35} {_time(row['measured_s']):>12} {_time(row['predicted_s']):>11} {duration(difference_s):>11} {ratio:>6}")
    return lines + ["waiting: measured, a pipeline's bubble is part of its communication, whose",
                    "kernels wait for their peers, and of idle time; predicted, it stands alone"]


def _communication(rows: List[Row]) -> List[str]:
    lines = ["", "                             calls           busy                exposed",
             "axis      kind              meas.  pred.  measured predicted  measured predicted"]
    for row in rows:
        calls = " ".join("     -" if row[key] is None else f"{row[key]:>6.4g}" for key in ("measured_calls", "predicted_calls"))
        times = " ".join(f"{_time(row[f'{side}_{key}']):>9}" for key in ("busy_s", "exposed_s") for side in ("measured", "predicted"))
        lines.append(f"{row['axis']:<9} {row['kind']:<15} {calls} {times}")
        lines += [f"    groups {row['groups'][:60]}"] if row["groups"] not in (None, "-") else []
    return lines


def page_of(trace: Trace, against: Optional[Dict[str, Any]]) -> str:
    """The page.  against: the simulated step beside it, if one was asked for."""
    compared = _parts(against["parts"]) + _communication(against["communication"]) if against else []
    return "\n".join([*_ranks(trace), *_mean(trace), *compared, *_steps(trace), *_channels(trace), *_kernels(trace), *_shapes(trace)]) + "\n"
