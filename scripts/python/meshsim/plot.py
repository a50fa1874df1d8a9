"""Pictures with matplotlib: lines, heat maps, bars and scatters in the look of meshsim's own, platforms and meshes, the timeline of a trace.

    figure = meshsim.plot.lines([1, 2, 4], {"ring": [3e9, 4e9, 5e9]}, unit="B/s", title="all_reduce", x_label="size", y_label="bus bandwidth")
    pathlib.Path("lines.svg").write_bytes(meshsim.plot.save(figure))

Each function returns a matplotlib Figure. Colours are those of Okabe and Ito (Color Universal Design, 2008) with a shape for each series, which stay apart
without colours; texts are never markup. `save` gives the same bytes for the same figure; its SVG shows what a mark is when a reader points at it.
**labels are title, x_label and y_label. Units are those of `quantity`.
"""

from __future__ import annotations

import functools
import io
import math
import re
import tempfile
from itertools import chain, cycle
from pathlib import Path
from typing import Any, Callable, List, Mapping, NamedTuple, Optional, Sequence, Tuple
from xml.etree import ElementTree

from meshsim.tools._units import digits

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
PARTS = ("#0072b2", "#e69f00", "#009e73", "#56b4e9", "#cc79a7", "#999999", "#d55e00", "#f0e442", "#333333")
"""of parts that lie upon each other, the first six as on the page of a trace"""
MARKERS = "os^Dv"
HEAT = ((1.0, 1.0, 0.85), (0.25, 0.71, 0.77), (0.03, 0.11, 0.35))
"""ColorBrewer's YlGnBu: lightness falls all the way, so that it can be read without colours. Source: Brewer (2002)."""
STYLE = {"font.family": "DejaVu Sans", "font.size": 10, "axes.titlesize": 12, "axes.titlelocation": "left", "axes.titlepad": 14, "text.parse_math": False,
         "svg.fonttype": "none", "svg.hashsalt": "meshsim", "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.grid.axis": "y",
         "grid.color": "#dddddd", "axes.axisbelow": True, "axes.edgecolor": "#333333", "legend.frameon": False, "lines.linewidth": 1.3, "lines.markersize": 5.5}
PT = 72
"""points of an inch, in which sizes are given here"""
WIDTH, HEIGHT, LETTER = 400, 270, 6.3
"""of axes, and the mean width of a letter"""
BEST, BEATEN = "no other one beats it", "another one beats it"
Numbers = Sequence[Optional[float]]


class Point(NamedTuple):
    """A mark of a scatter."""

    x: float
    y: float
    series: str
    name: str = ""
    """shown when a reader points at it"""


# ---- texts ----

def plain(text: object, most: int = 70) -> str:
    """A text as a picture may have it: on one line, what cannot be seen as "?", and the middle of a long one left out."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in str(text))
    return shown if len(shown) <= most else f"{shown[:most // 2]}…{shown[1 - most // 2:]}"


def quantity(value: Optional[float], unit: str = "") -> str:
    """A value in SI with its unit as the program prints it.  unit: s, B, B/s, bit/s (of bytes a second), J, W, % (of a share), or none.  None: unlimited."""
    if value is None or not math.isfinite(value):
        return "unlimited"
    if unit == "%":
        return f"{100 * value:.3g} %"
    if unit == "" or value == 0:
        return f"{value:.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g} {unit}".strip()
    value, base = value * {"s": 1e12, "bit/s": 8}.get(unit, 1), 1024 if unit == "B" else 1000
    prefixes = {"s": ("p", "n", "u", "m", ""), "B": ("", "Ki", "Mi", "Gi", "Ti", "Pi")}.get(unit, ("", "k", "M", "G", "T", "P", "E"))
    step = 0
    while step + 1 < len(prefixes) and abs(float(digits(value / base**step))) >= base:
        step += 1
    return f"{digits(value / base**step)} {prefixes[step]}{unit}"


def unit_of(key: str) -> str:
    """The unit that a key of the program's JSON says."""
    found = re.search(r"_(s|B|Bps|J)$|(?P<share>_fraction|_share|_error|mfu|mfu_causal|hfu|relative)$", key)
    return "" if not found or re.search(r"_per_s(_|$)", key) else "%" if found["share"] else found[1].replace("Bps", "B/s")


# ---- figures ----

def styled(draw: Callable[..., Any]) -> Callable[..., Any]:
    """In this look, whatever matplotlibrc says."""
    @functools.wraps(draw)
    def drawn(*words: Any, **named: Any) -> Any:
        import matplotlib
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(STYLE)
            return draw(*words, **named)
    return drawn


def canvas(width: float, height: float, title: str = "", x_label: str = "", y_label: str = "") -> Tuple[Any, Any]:
    """A white figure with axes of a size in points; what stands beside them makes its file larger."""
    from matplotlib.figure import Figure
    figure = Figure((width / PT, height / PT), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_title(plain(title, 90), x=0)
    axes.set_xlabel(plain(x_label, 100), labelpad=8)
    axes.set_ylabel(plain(y_label), labelpad=8)
    return figure, axes


def tell(artist: Any, names: Sequence[str]) -> None:
    """What a reader of the SVG sees when pointing at each shape of an artist that is in a figure."""
    tips = artist.figure.__dict__.setdefault("tips", {})
    artist.set_gid(f"tip{len(tips)}")
    tips[artist.get_gid()] = [plain(name, 1000) for name in names]


@styled
def save(figure: Any, form: str = "svg") -> bytes:
    """A figure of this module as a file's content.  form: svg, png or pdf."""
    out = io.BytesIO()
    metadata = {"svg": {"Date": None, "Creator": "meshsim"}, "pdf": {"CreationDate": None}, "png": {}}[form]
    artists = figure.get_default_bbox_extra_artists() + [label for axes in figure.axes for label in (axes.xaxis.label, axes.yaxis.label)]  # longer than an axis
    figure.savefig(out, format=form, dpi=2 * PT, bbox_inches="tight", bbox_extra_artists=artists, pad_inches=0.15, facecolor="white", metadata=metadata)
    if form != "svg":
        return out.getvalue()
    for _, (prefix, name) in ElementTree.iterparse(io.BytesIO(out.getvalue()), ("start-ns",)):
        ElementTree.register_namespace(prefix, name)
    root = ElementTree.fromstring(out.getvalue())
    for group in root.findall(".//{*}g"):
        names = getattr(figure, "tips", {}).get(group.get("id"), ())
        for shape, name in zip(names and (group.findall(".//{*}use") or group.findall(".//{*}path")), names):
            if name:
                ElementTree.SubElement(shape, root.tag[:-3] + "title").text = name
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)


def _ticks(low: float, high: float, unit: str, is_log: bool) -> List[List[float]]:
    """[lines, ticks] between two values, at round numbers of the unit that suits them: of bytes powers of two, or multiples of KiB, MiB and so on."""
    from matplotlib.ticker import MaxNLocator
    if is_log:
        base, firsts = (2.0, range(1, 2)) if unit == "B" else (10.0, range(1, 10))
        lines = [first * base**power for power in range(math.floor(math.log(low, base)), math.ceil(math.log(high, base)) + 1) for first in firsts]
        ticks = lines[::-(-len(lines) // 8)] if unit == "B" else [tick for tick in lines if f"{tick:e}"[0] in ("125" if high < 2000 * low else "1")]
    else:
        size = 1024.0 ** max(0, int(math.log(max(high, -low, 2) / 2, 1024))) if unit == "B" else 1.0
        lines = ticks = list(size * MaxNLocator(6, steps=[1, 2, 5, 10]).tick_values(low / size, high / size))
    return [[place for place in places if low <= place <= high] for places in (lines, ticks)]


def _scale(axis: Any, low: float, high: float, unit: str, is_log: bool) -> None:
    """From the lowest value to the highest, with ticks."""
    low, high = (low / 1.15, high * 1.15) if is_log else (low, high)
    lines, ticks = _ticks(low, high, unit, is_log)
    axis.axes.set(**{f"{axis.axis_name}scale": "log" if is_log else "linear", f"{axis.axis_name}lim": (low, high)})
    axis.set_ticks(lines, [""] * len(lines), minor=True)
    axis.set_ticks(ticks, [quantity(tick, unit) for tick in ticks])


def _name(axes: Any, places: Sequence[float], names: Sequence[str], must_all: bool = False) -> None:
    """Below the axis the last name and every so many others that none run into each other; slanted ones where that leaves out most, or, of up to 20 with
    must_all, any."""
    at = [axes.transData.transform((place, axes.get_ylim()[0]))[0] * PT / axes.figure.dpi for place in places]
    last, least = len(names) - 1, len(names) if must_all and len(names) <= 20 else min(len(names), 20) / 2
    for angle in (0, 35):
        room = [8 if angle else LETTER * len(name) / 2 + 4 for name in names]
        has_room = lambda i, j: at[j] - room[j] >= at[i] + room[i]
        step = next(step for step in range(1, last + 3) if all(has_room(i, i + step) for i in range(0, last + 1 - step, step)))
        kept = [i for i in range(0, last, step) if has_room(i, last)] + [last] * (last >= 0)
        if len(kept) >= least:
            break
    axes.set_xticks(places, [""] * len(names), minor=True)
    axes.set_xticks([places[i] for i in kept], [names[i] for i in kept], rotation=angle, rotation_mode="anchor", ha="right" if angle else "center")


def _finish(figure: Any, axes: Any, notes: Sequence[str] = (), is_turned: bool = False) -> Any:
    """A legend of the artists that have labels, and notes below."""
    handles = axes.get_legend_handles_labels()[0][::-1 if is_turned else 1]
    if len(handles) > 1:
        axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.02, 1.02), borderaxespad=0, ncol=-(-len(handles) // 24))
    figure.draw_without_rendering()
    bottom = axes.get_tightbbox().y0 * PT / figure.dpi
    for i, note in enumerate(notes):
        axes.annotate(plain(note, 110), (0, 0), xycoords="axes fraction", xytext=(-60, bottom - 10 - 14 * i), textcoords="offset points", va="top", color="#444444")
    return figure


def _numbers(values: Numbers) -> List[float]:
    return [value if isinstance(value, (int, float)) and math.isfinite(value) else math.nan for value in values]


def _known(rows: Sequence[Sequence[float]]) -> List[float]:
    return [value for value in chain(*rows) if value == value] or [0.0, 1.0]


# ---- charts ----

@styled
def lines(x: Optional[Sequence[float]], series: Mapping[str, Numbers], names: Optional[Sequence[str]] = None, unit: str = "", x_unit: str = "", log: Optional[bool] = None,
          has_marks: bool = True, marked: Mapping[str, Sequence[bool]] = {}, mark_note: str = "", tips: Mapping[str, Sequence[str]] = {}, notes: Sequence[str] = (), **labels: str) -> Any:
    """A quantity over a setting, a line for each series, interrupted where a value is None.
    x: where the values lie, growing, on a logarithmic axis where the last is 8 times the first; None: side by side.  names: of the places; None:
    the axis has round numbers of x_unit.  log: whether the y axis is logarithmic; None: where the largest value is 30 times the least.  has_marks: at the values
    of lines of up to 200; marked: which are hollow, by series; mark_note: why; tips: what each is.  notes: lines below the picture."""
    figure, axes = canvas(WIDTH, HEIGHT, **labels)
    places = list(range(len(names or ()))) if x is None else list(x)
    rows = {name: _numbers(row) for name, row in series.items()}
    known = _known(list(rows.values()))
    is_log = min(known) > 0 and (max(known) >= 30 * min(known) if log is None else log)
    _scale(axes.yaxis, min(known) if is_log else min(*known, 0.0), max(known) if is_log else 1.08 * max(known) if max(known) > 0 else 1.0, unit, is_log)
    is_log_x = x is not None and 0 < 8 * places[0] <= places[-1]
    room = (places[-1] / places[0]) ** 0.03 if is_log_x else 0.03 * (places[-1] - places[0]) or 0.5
    ends = (places[0] / room, places[-1] * room) if is_log_x else (places[0] - room, places[-1] + room)
    if names is None:
        _scale(axes.xaxis, *ends, x_unit, is_log_x)
    else:
        axes.set(xscale="log" if is_log_x else "linear", xlim=ends)
        _name(axes, places, [plain(name, 30) for name in names])
    for (name, row), colour, marker in zip(rows.items(), cycle(COLOURS), cycle(MARKERS)):
        told = tips.get(name) or [f"{name}: {quantity(value, unit)}" for value in row]
        hollow = [bool(mark) and row[i] == row[i] for i, mark in enumerate(marked.get(name, [False] * len(row)))]
        filled = [i for i, value in enumerate(row) if value == value and not hollow[i]] if has_marks and len(row) <= 200 else []
        line, = axes.plot(places, row, color=colour, marker=marker if filled else "", markevery=filled, label=plain(name))
        tell(line, [told[i] for i in filled])
        marks, = axes.plot([places[i] for i, mark in enumerate(hollow) if mark], [row[i] for i, mark in enumerate(hollow) if mark], marker, mfc="white", mec=colour)
        tell(marks, [told[i] for i, mark in enumerate(hollow) if mark])
    if mark_note:
        axes.plot([], [], "o", mfc="white", mec="#333333", label=f"hollow: {plain(mark_note)}")
    return _finish(figure, axes, notes)


@styled
def heat_map(columns: Sequence[str], rows: Sequence[str], values: Sequence[Numbers], unit: str = "", marked: Sequence[Sequence[bool]] = (), mark_note: str = "",
             tips: Sequence[Sequence[str]] = (), **labels: str) -> Any:
    """A quantity over two settings as a table of colours, the darkest the largest, with its numbers where they have room.
    values: [rows][columns], None where there is none.  marked: which have a "!"; mark_note: why.  Logarithmic where the largest is 30 times the least."""
    from matplotlib.colors import LinearSegmentedColormap, LogNorm, Normalize
    from matplotlib.transforms import ScaledTranslation
    has_numbers = len(columns) <= 24 and len(rows) <= 60
    columns, rows = [plain(name, 24) for name in columns], [plain(name, 40) for name in rows]
    width = len(columns) * max(60, 8 + LETTER * max(map(len, columns))) if has_numbers else WIDTH
    figure, axes = canvas(width, 26 * len(rows) if has_numbers else HEIGHT, **labels)
    table = [_numbers(row) for row in values]
    known = _known(table)
    norm = (LogNorm if 0 < 30 * min(known) <= max(known) else Normalize)(min(known), max(known))
    colours = LinearSegmentedColormap.from_list("heat", HEAT)
    colours.set_bad("#eeeeee")
    cells = axes.pcolormesh(table, norm=norm, cmap=colours, edgecolors="white" if has_numbers else "none", rasterized=not has_numbers)
    axes.set(xlim=(0, len(columns)), ylim=(len(rows), 0))
    axes.grid(False)
    axes.spines[:].set_visible(False)
    step = 1 if has_numbers else -(-len(rows) // 22)
    axes.set_yticks([i + 0.5 for i in range(0, len(rows), step)], rows[::step])
    _name(axes, [i + 0.5 for i in range(len(columns))], columns)
    axes.yaxis.label.set(rotation=0, ha="right", va="bottom")  # above the names of the rows, as the table may be low
    axes.yaxis.set_label_coords(0, 1, axes.transAxes + ScaledTranslation(-6 / PT, 6 / PT, figure.dpi_scale_trans))
    axes.tick_params(which="both", length=0)
    for i, j in ((i, j) for i in range(len(rows)) for j in range(len(columns)) if has_numbers):
        value, mark = table[i][j], " !" if marked and marked[i][j] else ""
        is_dark = sum(weight * part for weight, part in zip((0.299, 0.587, 0.114), colours(norm(value)))) < 0.5  # luma of ITU-R BT.601
        axes.text(j + 0.5, i + 0.5, quantity(value, unit) + mark if value == value else "-", ha="center", va="center", color="white" if is_dark else "black")
    if has_numbers:
        tell(cells, list(chain(*tips)))
    else:
        ticks = _ticks(*cells.get_clim(), unit, isinstance(norm, LogNorm))[1]
        figure.colorbar(cells, ax=axes).set_ticks(ticks, labels=[quantity(tick, unit) for tick in ticks])
    return _finish(figure, axes, [f"! {mark_note}"] if mark_note else [])


@styled
def bars(names: Sequence[str], parts: Mapping[str, Numbers], unit: str = "", limit: Optional[float] = None, limit_name: str = "capacity", over_note: str = "",
         **labels: str) -> Any:
    """A bar for each name, of parts that lie upon each other, and a limit across them; a bar that exceeds it has a "!".
    parts: values of all bars, by part, from the lowest on.  over_note: what the "!" means."""
    figure, axes = canvas(WIDTH * min(1.0, (len(names) + 1) / 6), HEIGHT, **labels)
    rows = {part: [value if value == value else 0.0 for value in _numbers(row)] for part, row in parts.items()}
    totals = [sum(column) for column in zip(*rows.values())] or [0.0]
    is_near = limit is not None and limit <= 4 * max(totals)
    _scale(axes.yaxis, 1.1 * min(*totals, 0.0), 1.1 * max(*totals, limit if is_near else 0.0, 0.0) or 1.0, unit, False)
    axes.set_xlim(-1 / min(len(names), 2), len(names) - 1 + 1 / min(len(names), 2))
    over = [i for i, total in enumerate(totals) if limit is not None and total > limit]
    if over and over_note:
        axes.plot([], [], " ", label=f"! {plain(over_note)}")
    bottom = [0.0] * len(names)
    for (part, row), colour in zip(rows.items(), cycle(PARTS)):
        for bar, name, value, total in zip(axes.bar(range(len(names)), row, 0.8, bottom, color=colour, label=plain(part, 40)), names, row, totals):
            tell(bar, [f"{labels.get('x_label', '')} {name}: {part} {quantity(value, unit)} of {quantity(total, unit)}".strip()])
        bottom = [low + value for low, value in zip(bottom, row)]
    axes.bar_label(axes.bar(over, [totals[i] for i in over], 0.8, fill=False, edgecolor="black", linewidth=1.5), ["!"] * len(over), weight="bold")
    if limit is not None:
        axes.plot(axes.get_xlim(), [limit if is_near else math.nan] * 2, "k", linestyle=(0, (4, 3)), label=f"{limit_name}: {quantity(limit, unit)}")
    _name(axes, range(len(names)), [plain(name, 30) for name in names], must_all=True)
    return _finish(figure, axes, is_turned=True)


@styled
def scatter(points: Sequence[Point], series: Optional[Sequence[str]] = None, title: str = "", x_label: str = "", y_label: str = "", unit: str = "",
            diagonal: bool = True, x_unit: Optional[str] = None) -> Any:
    """Marks, such as predictions over measurements.
    series: names in the legend's order; None: as they come.  diagonal: both axes have one logarithmic scale, with a line where y is x and dashed ones 10 % off;
    else an axis is logarithmic where its largest value is 30 times the least.  x_unit: None: that of y."""
    figure, axes = canvas(1.1 * WIDTH, 1.1 * WIDTH if diagonal else HEIGHT, title, x_label, y_label)
    shown = [point for point in points if all(math.isfinite(value) and (value > 0 or not diagonal) for value in point[:2])]
    ways = [point.x for point in shown] or [1.0], [point.y for point in shown] or [1.0]
    for axis, way, one in zip((axes.xaxis, axes.yaxis), (ways[0] + ways[1],) * 2 if diagonal else ways, (unit if x_unit is None else x_unit, unit)):
        is_log = diagonal or 0 < 30 * min(way) <= max(way)
        room = 0.0 if is_log else 0.08 * (max(way) - min(way) or max(way) or 1.0)
        _scale(axis, min(way) - room, max(way) + room, one, is_log)
    axes.grid(True, which="both", axis="both", color="#e8e8e8")
    for name, colour, marker in zip(dict.fromkeys(point.series for point in shown) if series is None else series, cycle(COLOURS), cycle(MARKERS)):
        own = [point for point in shown if point.series == name]
        marks, = axes.plot([point.x for point in own], [point.y for point in own], marker, color=colour, alpha=0.6, label=plain(name, 40))
        tell(marks, [point.name for point in own])
    for factor, style in ((1, "-"), (0.9, "--"), (1.1, "--")) if diagonal else ():
        axes.axline((1, factor), (2, 2 * factor), linestyle=style, color="#333333", linewidth=1, zorder=1, label="10 % off" if factor > 1 else None)
    return _finish(figure, axes)


@styled
def pareto(points: Sequence[Point], unit: str = "", x_unit: str = "", **labels: str) -> Any:
    """Marks that are the better the less they are both ways, with names and a line of those that no other one beats both ways.
    A point with a series is out of the contest, for the reason that its series says."""
    best: List[Point] = []
    others: List[Point] = []
    for point in sorted(point for point in points if math.isfinite(point.x + point.y)):
        if point.series or best and point.y >= best[-1].y and point[:2] != best[-1][:2]:
            others.append(point._replace(series=point.series or BEATEN))
        elif best and point[:2] == best[-1][:2]:
            best[-1] = best[-1]._replace(name=f"{best[-1].name}, {point.name}")
        else:
            best.append(point._replace(series=BEST))
    figure = scatter([*best, *others], list(dict.fromkeys((BEST, BEATEN, *(point.series for point in others)))), unit=unit, diagonal=False, x_unit=x_unit, **labels)
    axes, free = figure.axes[0], (-math.inf, math.inf)
    axes.step([point.x for point in best], [point.y for point in best], where="post", color=COLOURS[0])
    for point, name in ((point, plain(point.name, 40)) for point in best):
        x, y = axes.transData.transform(point[:2]) * PT / figure.dpi
        if x >= free[0] or y <= free[1]:
            axes.annotate(name, point[:2], xytext=(5, 4), textcoords="offset points", fontsize=8, zorder=5, bbox={"fc": "white", "lw": 0, "alpha": 0.7, "pad": 0.5})
            free = x + 0.8 * LETTER * len(name) + 8, y - 11
    return figure


def timeline(trace: "str | Path") -> str:
    """The passes and messages of a trace over time, as the SVG that `meshsim report` draws.  trace: an HDF5 file of `meshsim run -o`.
    Raises as `meshsim.report`."""
    from meshsim._calls import report
    with tempfile.TemporaryDirectory() as folder:
        return Path(report(str(trace), f"{folder}/timeline.svg")).read_text(encoding="utf-8")


from meshsim._graph import mesh, platform, platform_dot  # noqa: E402, F401  they draw with the above
