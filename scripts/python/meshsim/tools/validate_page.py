"""What `meshsim validate` prints for people."""

from __future__ import annotations

import math
import textwrap
from typing import Any, Dict, List, Optional

from ._units import duration, size
from .cases import APART, SCORED
from .validate import NO_PLATFORM, Groups, Row, Validation, mean_of

WIDTH = 80
HEAD = " predicted   measured  error %\n"
GROUP_HEAD = "                     n  mean %  bias %  worst %\n"
ABLATION_HEAD = ("                       rows without      gain in points of percent\n"
                 "mechanism             moved  mean %    all fitted unseen  most, in\n")
ABLATION_FOOT = ("\ngain: what the mean error grows by without it; below 0 it costs. Unseen: a third\n"
                 "of the rows by the checksum of their names, and all of groups under 6 rows\n")


def _share(value: float, digits: int = 1) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.{digits}f}"


def _time(time_s: float) -> str:
    return "-" if math.isnan(time_s) else duration(time_s)


def _line(text: str) -> str:
    return text.rstrip(" ") + "\n"


def _wrapped(margin: str, text: str) -> str:
    lines = textwrap.wrap(margin + text, WIDTH, subsequent_indent=" " * 6, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines) + "\n"


def _mark(row: Row) -> str:
    return "?" if row.case.is_suspect else "" if row.fits else "!"


def _groups(title: str, groups: Groups) -> str:
    lines = [_line(f"{name:<17} {g['n']:>4} {_share(g['mean_abs_error']):>7} {_share(g['bias']):>7} {_share(g['worst_abs_error']):>8}  {g['worst']}")
             for name, g in groups.items()]
    return f"\n{title}\n{GROUP_HEAD}{''.join(lines)}" if groups else ""


def _points(title: str, points: List[Dict[str, Any]]) -> str:
    lines = [_line(f"{_time(p['predicted_s']):>10} {_time(p['measured_s']):>10} {_share(p['error']):>7}  {p['quantity']:<9} {p['id']}") for p in points]
    return f"\n{title}\n{HEAD}{''.join(lines)}" if points else ""


def page(v: Validation) -> str:
    """Every table."""
    rows = [row for row in v.of(SCORED) if row.reason is None]
    text = "".join([HEAD, *(_line(f"{_time(row.predicted_s):>10} {_time(row.measured_s):>10} {_share(row.error):>7} {_mark(row):>1} {row.case.id}")
                            for row in rows)]) if rows else ""
    large, suspect, unstated = (sum(flags) for flags in zip(*((not row.fits, row.case.is_suspect, not row.case.recompute_is_stated) for row in rows))) \
        if rows else (0, 0, 0)
    text += f"! {large} ran, and do not fit in memory as simulated\n" if large else ""
    text += f"? {suspect} whose source contradicts itself; they count\n" if suspect else ""
    text += (f"{unstated} do not state what is recomputed, and have their framework's choice; without them\n  the mean of groups is "
             f"{100 * mean_of(v.stated_groups()):.1f} %\n") if unstated else ""
    text += _groups("step time by group", v.groups())
    text += f"{'mean of groups':<22} {100 * mean_of(v.groups()):7.1f}\n" if v.groups() else ""
    text += _groups("step time outside the score", v.groups(APART)) + _groups("memory by group", v.memory_groups())
    text += _points("layers", v.layers) + _points("phases of steps", v.phases) + _groups("collectives by size", v.sizes)
    systems = [name for name, before in zip(v.skipped_systems, ["", *v.skipped_systems]) if name != before]  # left out together
    skipped = [_wrapped("  ", f"{row.case.id}: {row.reason}") for row in v.rows if row.reason is not None]
    skipped += [_wrapped("  ", f"{name}: {NO_PLATFORM}") for name in systems]
    return text + ("\nskipped\n" + "".join(skipped) if skipped else "")


def ablation_page(whole: Validation, gains: List[Dict[str, Any]]) -> str:
    """What each mechanism buys."""
    text = f"mean of groups with all mechanisms {100 * mean_of(whole.groups()):.1f} %\n\n{ABLATION_HEAD}"
    for row in gains:
        numbers = [_share(row[key], 2) for key in ("gain", "fitted_gain", "unseen_gain", "most_gain")]
        text += _line(f"{row['mechanism']:<22}{row['moved']:>5} {_share(row['mean_of_groups']):>7} " + " ".join(f"{number:>6}" for number in numbers)
                      + f" {row['most'] or '-'}")
    return text + ABLATION_FOOT


# ---- one case ----

def _fact(name: str, text: str) -> str:
    return f"  {name:<24} {text:>12}"


def _number(value: Optional[float], factor: float = 1.0) -> float:
    return math.nan if value is None else factor * value


def _simulated(row: Row) -> str:
    """Where the time goes, and what else is compared."""
    r, known = row.result, row.case.measured
    lines = ["\nsimulated"]
    lines += [f"{_fact(name, duration(share * row.predicted_s))} {100 * share:6.2f} %" for name, share in r["time_share"].items() if share > 0]
    lines += [_fact(f"a pass: {kind}", duration(time_s)) for kind, time_s in r["passes"]["compute_s"].items() if time_s > 0]
    for name, key, is_share in (("MFU", "mfu", True), ("MFU, causal", "mfu_causal", True), ("HFU", "hfu", True),
                                ("model TFLOP/s per GPU", "model_tflops_per_gpu", False), ("tokens/s per GPU", "tokens_per_s_per_gpu", False),
                                ("bubble", "bubble_fraction", True)):
        lines.append(f"  {name:<24} {_number(r[key], 100):11.2f} %" if is_share else f"  {name:<24} {_number(r[key]):12.1f}")
    lines.append(_fact("peak memory", size(r["memory"]["peak_B"])) + ("" if row.fits else ", does not fit"))
    if known.layer_s is not None:
        lines += [_fact("forward, as a layer", duration(r["passes"]["forward_s"])), _fact("backward, as a layer", duration(r["passes"]["backward_s"]))]
    if known.is_last_rank:
        lines += [_fact("last rank, peak", size(r["last_rank"]["peak_B"])), _fact("last rank, between steps", size(r["last_rank"]["static_B"]))]
    return "\n".join(lines) + "\n"


def case_page(row: Row) -> str:
    """One case in full."""
    case = row.case
    document = (case.workload or {}).get("platform") or {}
    platform = row.result.get("platform") or (document.get("file") if isinstance(document, dict) else document) or "no platform"
    text = (f"case       {case.id}, group {case.group}\nsource     {case.source or 'not named'}\nstands at  {case.place.file}:{case.place.line}\n"
            f"framework  {case.framework or row.result.get('framework', 'none')}, on {platform}\n")
    text += _wrapped("otherwise  ", "; ".join(case.differs)) + "\n" if case.differs else ""
    text += _wrapped("assumed    ", "; ".join(case.assumptions)) + "\n" if case.assumptions else ""
    if row.reason is not None:
        text += _wrapped("skipped    ", row.reason) + "\n"
    elif row.has_error:
        text += f"step       predicted {duration(row.predicted_s)}, measured {duration(row.measured_s)}, error {100 * row.error:+.1f} %\n"
    text += _simulated(row) if row.reason is None else ""
    figures = case.measured.figures
    return text + ("\npublished\n" + "".join(f"  {name:<36} {value}\n" for name, value in figures.items()) if figures else "")
