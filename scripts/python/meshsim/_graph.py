"""Platforms and meshes as pictures, from what `platform --json`, `mesh --json` and `check --json` print."""

from __future__ import annotations

import itertools
import math
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from meshsim.plot import COLOURS, canvas, plain, quantity, styled, tell

WIDTH, LEFT, RIGHT = 1000, 210, 966
"""units of a picture, 3/4 of a point: all of it, and where the graph is right of what its tiers are"""
ROW, BOX = 96, 34
CORE, SPINE, LEAF, NODE, INSIDE, IDLE, SPARE = "#f3cf80", "#80cfb9", "#abdaf4", "#f2f2f2", "#e6bcd3", "#ffffff", "#eaae80"
IDLE_CELL, SPARE_CELL = "#eeeeee", "#bbbbbb"
GPUS_MAX = 1 << 24
Tree = Mapping[str, Any]


class _Drawing:
    """Boxes, lines and texts of a picture whose y runs down."""

    def __init__(self) -> None:
        self.boxes: List[Tuple[float, float, float, float]] = []
        self.looks: List[Tuple[str, str]] = []
        self.tips: List[str] = []
        self.lines: List[List[Tuple[float, float]]] = []
        self.texts: List[Tuple[float, float, str, Dict[str, Any]]] = []

    def box(self, x: float, y: float, width: float, height: float, fill: str, label: str = "", tip: str = "", edge: str = "#999999", size: float = 12) -> None:
        self.boxes.append((x, y, width, height))
        self.looks.append((fill, edge))
        self.tips.append(tip or label)
        if label:
            self.text(x + width / 2, y + height / 2, label, size, width - 4, ha="center", va="center_baseline")

    def text(self, x: float, y: float, text: str, size: float = 12, room: float = WIDTH - 32, **look: Any) -> None:
        """A text, smaller where it would leave its room, and none where nobody could read it."""
        text = plain(text, 160)
        size = min(size, room / (0.62 * max(len(text), 1)))
        if size >= 6:
            self.texts.append((x, y, text, {"size": 0.75 * size, **look}))

    def tier(self, tree: Tree, name: str, y: float) -> None:
        """What a tier is, left of the graph."""
        tier = next(tier for tier in tree["tiers"] if tier["name"] == name)
        self.text(16, y, f"{name}: {tier['links']} links", room=LEFT - 20, weight="bold")
        self.text(16, y + 16, f"{_speed(tier)} a link, {quantity(tier['latency_s'], 's')}", room=LEFT - 20, color="#444444")

    def figure(self, height: float) -> Any:
        from matplotlib.collections import LineCollection, PolyCollection
        figure, axes = canvas(0.75 * WIDTH, 0.75 * height)
        axes.set(xlim=(0, WIDTH), ylim=(height, 0))
        axes.axis("off")
        axes.add_collection(LineCollection(self.lines, colors="#888888", linewidths=0.8, zorder=1))
        corners = [[(x, y), (x + width, y), (x + width, y + height), (x, y + height)] for x, y, width, height in self.boxes]
        shapes = PolyCollection(corners, facecolors=[fill for fill, _ in self.looks], edgecolors=[edge for _, edge in self.looks], linewidths=0.75, zorder=2)
        axes.add_collection(shapes)
        tell(shapes, self.tips)
        for x, y, text, look in self.texts:
            axes.text(x, y, text, zorder=3, **look)
        return figure


def _speed(tier: Tree) -> str:
    return quantity(tier["capacity_Bps"], "bit/s" if tier["in_bits"] else "B/s")


def _whole(tree: Tree, key: str, most: int = GPUS_MAX) -> int:
    number = tree[key]
    if not isinstance(number, int) or not 0 < number <= most:
        raise ValueError(f"'{key}' is no number from 1 to {most}")
    return number


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


# ---- platforms ----

@styled
def platform(tree: Tree) -> Any:
    """A platform: its levels of switches or its tori with the first and the last units of many, and one node opened up; what a job leaves idle where there
    is a placement.  tree: what `meshsim platform --json` prints.  Raises KeyError, TypeError or ValueError for another tree."""
    import numpy as np
    drawing, layout = _Drawing(), tree["layout"]
    uses = np.zeros(_whole({"gpus": _whole(tree, "nodes") * _whole(tree, "gpus_per_node")}, "gpus"), np.int8)
    for first, last in tree.get("unused_gpus", ()):
        uses[first:last + 1] = 1
    for node in tree.get("placement", {}).get("spare_nodes", ()):
        uses[node * tree["gpus_per_node"]:(node + 1) * tree["gpus_per_node"]] = 2
    drawing.text(16, 26, f"{tree['platform']}: {tree['nodes']} nodes of {tree['gpus_per_node']} x {tree['gpu']['name']}", 18, weight="bold")
    drawing.text(16, 46, f"{tree['gpus']} GPUs · {tree['links']} links", 13, color="#444444")
    y = (_draw_torus if "shape" in layout else _draw_switches)(drawing, tree, layout, uses)
    for i, (word, fill) in enumerate((("with a rank", LEAF if "shape" in layout else NODE), ("idle", IDLE), ("spare", SPARE)) if "placement" in tree else ()):
        drawing.box(LEFT + 220 * i, y + 14, 12, 12, fill)
        drawing.text(LEFT + 220 * i + 18, y + 25, f"{_plural(int((uses == i).sum()), 'GPU')} {word}")
    return drawing.figure(y + (34 if "placement" in tree else 8))


def _draw_switches(d: _Drawing, tree: Tree, layout: Tree, uses: Any) -> float:
    units, leaves, per_node = _whole(layout, "units"), _whole(layout, "leaves_per_unit"), tree["gpus_per_node"]
    wanted = [0, units - 1, *(uses.nonzero()[0] // (layout["nodes_per_unit"] * per_node)).tolist(), *range(min(units, 6))]
    shown = sorted(list(dict.fromkeys(wanted))[:6])
    pitch, y = (RIGHT + 14 - LEFT) / len(shown), 66.0
    if layout["core_tier"]:
        d.box(LEFT, y, RIGHT - LEFT, BOX, CORE, "core")
        d.tier(tree, layout["core_tier"], y + BOX + 20)
        y += ROW
    if layout["spine_tier"]:
        for pod, columns in itertools.groupby(range(len(shown)), lambda column: shown[column] // layout["units_per_pod"]):
            own = list(columns)
            left, width = LEFT + pitch * own[0], pitch * len(own) - 14
            d.box(left, y, width, BOX, SPINE, f"spine of pod {pod}" if layout["pods"] > 1 else "spine")
            if layout["core_tier"]:
                d.lines.append([(left + width / 2, y), (left + width / 2, y - ROW + BOX)])
        d.tier(tree, layout["spine_tier"], y + BOX + 20)
        y += ROW
    d.text(16, y + BOX / 2 + 4, "one leaf switch per rail" if leaves > 1 else "leaf switches", room=LEFT - 20)
    d.tier(tree, layout["port_tier"], y + BOX + 20)
    for column, unit in enumerate(shown):
        left, width, nodes = LEFT + pitch * column, pitch - 14, min(layout["nodes_per_unit"], tree["nodes"] - unit * layout["nodes_per_unit"])
        drawn = min(leaves, 16)
        for i in range(drawn):
            x = left + width / drawn * (i + 0.5)
            d.lines.append([(x, y + BOX if not layout["spine_tier"] else y - ROW + BOX), (x, y + ROW)])
            d.box(x - width / drawn / 2, y, width / drawn - 2, BOX, LEAF, "leaf" if leaves == 1 else ".." if i == 15 < leaves - 1 else str(i))
        name = f"unit {unit}: " if units > 1 else ""
        d.box(left, y + ROW, width, BOX, NODE)
        own = uses[unit * layout["nodes_per_unit"] * per_node:][:nodes * per_node].reshape(nodes, per_node)
        unused = [(int((node != 0).sum()), bool(node[0] == 2)) for node in own]
        for (count, is_spare), run in itertools.groupby(range(nodes), lambda node: unused[node]):
            alike = list(run)
            if count:  # from the top the share of a node that no rank has
                d.box(left + width * alike[0] / nodes, y + ROW, width * len(alike) / nodes, BOX * count / per_node, SPARE if is_spare else IDLE)
        d.text(left + width / 2, y + ROW + BOX / 2, name + _plural(nodes, "node"), 12, width - 4, ha="center", va="center_baseline")
        if column and unit != shown[column - 1] + 1:
            d.text(left - 11, y + ROW + BOX / 2 + 4, "..")
    y += ROW + BOX
    if layout["node_tier"]:
        count, y = min(per_node, 16), y + BOX
        d.box(LEFT, y, RIGHT - LEFT, BOX, INSIDE, "inside a node: a link between every two GPUs" if layout["is_paired"] else "inside a node")
        d.tier(tree, layout["node_tier"], y + BOX + 20)
        step = (RIGHT - LEFT) / count
        for i in range(count):
            d.lines.append([(LEFT + step * (i + 0.5), y + BOX), (LEFT + step * (i + 0.5), y + ROW)])
            d.box(LEFT + step * i + 3, y + ROW, step - 6, BOX, "#ffffff", ".." if i == 15 < per_node - 1 else f"GPU {i}")
        y += ROW + BOX
    return y


def _draw_torus(d: _Drawing, tree: Tree, layout: Tree, uses: Any) -> float:
    shape, pods, y = layout["shape"], _whole(layout, "pods"), 66.0
    columns, rows = min(shape[0], 16), min(shape[1] if len(shape) > 1 else 1, 16)
    if pods > 1:
        d.box(LEFT, y, RIGHT - LEFT, BOX, CORE, layout["port_tier"])
        d.tier(tree, layout["port_tier"], y + 16)
        y += 62
    for pod in range(min(pods, 3)):
        left = LEFT + 260 * pod
        d.text(left, y + 16, f"pod {pod}: {' x '.join(map(str, shape))}", room=240)
        if pods > 1:
            d.lines.append([(left + 110, y - 28), (left + 110, y)])
        ends = left + 8, left + 15 * columns + 8, y + 32, y + 15 * rows + 32
        d.lines += [[(ends[0], y + 40 + 15 * row), (ends[1], y + 40 + 15 * row)] for row in range(rows) if columns > 1]
        d.lines += [[(left + 15 + 15 * column, ends[2]), (left + 15 + 15 * column, ends[3])] for column in range(columns) if rows > 1]
        for row, column in itertools.product(range(rows), range(columns)):
            chip = pod * math.prod(shape) + row * shape[0] + column
            d.box(left + 11 + 15 * column, y + 36 + 15 * row, 8, 8, (LEAF, IDLE, SPARE)[uses[chip]], tip=f"chip {chip}")
    d.tier(tree, tree["tiers"][0]["name"], y + 54)
    y += max(40 + 15 * rows, 80) + 18
    planes = ", piles of planes are closed likewise" if len(shape) > 2 else ""
    first = "first of " if pods > 3 else ""
    d.text(16, y, f"{first}{_plural(pods, 'pod')}; one plane of each is drawn{planes}; lines that leave a plane come back on the other side", 11, color="#666666")
    return y


# ---- Graphviz ----

def platform_dot(tree: Tree) -> str:
    """A platform as a graph for Graphviz: nodes one by one up to 64, then units, and one shape for each level where there are more than 1,024 leaf switches;
    of tori chips up to 256, then pods.  tree: as for `platform`."""
    lines: List[str] = []

    def shape(name: str, *label: object, box: bool = False) -> None:
        lines.append(f"  {name} [{'shape=box, ' if box else ''}label=\"" + "\\n".join(map(_quoted, label)) + '"];')

    def edge(start: str, end: str, tier: str, count: int = 1) -> None:
        speed = next(_speed(row) for row in tree["tiers"] if row["name"] == tier)
        lines.append(f"  {start} -- {end} [label=\"{f'{count} x ' if count > 1 else ''}{speed}\"];")

    (_torus_graph if "shape" in tree["layout"] else _switch_graph)(tree, tree["layout"], shape, edge)
    return "\n".join([f"// {_quoted(tree['platform'])}: {tree['nodes']} nodes, {tree['gpus']} GPUs; bandwidths are achieved ones, per direction",
                      "graph platform {", "  rankdir=BT;", '  node [fontname="sans-serif"];', '  edge [fontname="sans-serif", fontsize=9];', *lines, "}", ""])


def _quoted(text: object) -> str:
    return plain(text, 1000).replace("\\", "\\\\").replace('"', '\\"')


def _switch_graph(tree: Tree, layout: Tree, shape: Any, edge: Any) -> None:
    nodes, gpus, leaves, units = _whole(tree, "nodes"), f"{tree['gpus_per_node']} x {tree['gpu']['name']}", _whole(layout, "leaves_per_unit"), _whole(layout, "units")
    counts = {tier["name"]: tier["links"] // 2 for tier in tree["tiers"]}
    upper = [(name, layout[f"{name}_tier"], count) for name, count in (("spine", layout["pods"]), ("core", 1)) if layout[f"{name}_tier"]]
    if units * leaves > 1024:
        shape("nodes", f"{nodes} nodes", f"each {gpus}")
        for name, tier, count in [("leaf", layout["port_tier"], units * leaves), *upper]:
            below = "nodes" if name == "leaf" else "leaf" if name == "spine" else "spine"
            shape(name, f"{count} leaf switches" if name == "leaf" else f"{_plural(count, f'{name} layer')}", box=True)
            edge(below, name, tier, counts[tier])
        return
    ports, per_unit = layout["ports_per_node"] // leaves, layout["nodes_per_unit"]
    groups = [(f"node{node}", node // per_unit, 1, f"node {node}") for node in range(nodes)] if nodes <= 64 else \
        [(f"unit{unit}", unit, min(per_unit, nodes - unit * per_unit), f"nodes {unit * per_unit} to {min((unit + 1) * per_unit, nodes) - 1}") for unit in range(units)]
    for name, unit, count, label in groups:
        shape(name, label, gpus if nodes <= 64 else f"{count} x {gpus}")
        for leaf in range(unit * leaves, (unit + 1) * leaves):
            edge(name, f"leaf{leaf}", layout["port_tier"], ports * count)
    for leaf in range(units * leaves):
        shape(f"leaf{leaf}", "leaf", f"unit {leaf // leaves}" + (f" rail {leaf % leaves}" if layout["has_rails"] else ""), box=True)
        if layout["spine_tier"]:
            edge(f"leaf{leaf}", f"spine{leaf // leaves // layout['units_per_pod']}", layout["spine_tier"], layout["links_per_leaf"])
    for pod in range(layout["pods"] if layout["spine_tier"] else 0):
        shape(f"spine{pod}", f"spine of pod {pod}", box=True)
        if layout["core_tier"]:
            edge(f"spine{pod}", "core", layout["core_tier"], layout["links_per_pod"])


def _torus_graph(tree: Tree, layout: Tree, shape: Any, edge: Any) -> None:
    import numpy as np
    sizes, pods, per_node, link = layout["shape"], _whole(layout, "pods"), tree["gpus_per_node"], tree["tiers"][0]["name"]
    chips = math.prod(sizes)
    shapes = pods if pods <= 64 else 1
    if tree["gpus"] <= 256:
        places = np.arange(pods * chips).reshape(pods, *sizes[::-1])
        for chip in range(pods * chips):
            shape(f"chip{chip}", chip)
        pairs = [pair for axis in range(1, places.ndim) for pair in zip(places.flat, np.roll(places, -1, axis).flat)]
        for start, end in sorted({(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]}):
            edge(f"chip{start}", f"chip{end}", link)
    for pod in range(shapes if tree["gpus"] > 256 else 0):
        shape(f"pod{pod}", f"{pods} pods, each" if shapes < pods else f"pod {pod}", f"{' x '.join(map(str, sizes))} x {tree['gpu']['name']}", f"{_speed(tree['tiers'][0])} a link and direction")
    ends = [f"chip{node * per_node}" for node in range(tree["nodes"])] if tree["gpus"] <= 256 else [f"pod{pod}" for pod in range(shapes)]
    if pods > 1:
        shape("network", layout["port_tier"], box=True)
        for end in ends:
            edge(end, "network", layout["port_tier"], tree["nodes"] // len(ends) * tree["nics_per_node"])


# ---- meshes ----

class _View(NamedTuple):
    """Groups of an axis of a mesh, with a value for each place, counted as the axes stand."""

    names: Sequence[str]
    ways: Sequence[Any]
    groups: Any
    axis: str


def _view(names: Sequence[str], sizes: Tree, axis: str, places: Any) -> _View:
    import numpy as np
    ways, groups = np.unravel_index(places, [_whole(sizes, name) for name in names]), 0 * places
    for name, way in zip(names, ways):
        groups = groups if name == axis else groups * sizes[name] + way
    return _View(names, ways, groups, names[names.index(axis)])


@styled
def mesh(tree: Tree, axis: Optional[str] = None) -> Any:
    """Which rank sits on which GPU: of up to 256 GPUs all of them, of more the first 64, and below an overview with a cell for each GPU of up to 4,096, else for
    each node or several; experts have one of their own.
    tree: what `meshsim mesh --json` or `meshsim check --json` prints, of a mesh on a platform.  axis: whose groups have colours; None: the only one in `groups`,
    or the innermost with several ranks.  Raises KeyError, TypeError or ValueError for another tree, or without such an axis."""
    import numpy as np
    d, per_node, nodes = _Drawing(), _whole(tree, "gpus_per_node"), _whole(tree, "nodes")
    order, sizes, tiers, all_groups = tree["order"], tree.get("sizes") or tree["mesh"], tree.get("tiers") or tree["mesh_tiers"], list(tree.get("groups") or ())
    count, shape = math.prod(_whole(sizes, name) for name in order), " x ".join(f"{name} {sizes[name]}" for name in order)
    if max(count, nodes * per_node) > GPUS_MAX:
        raise ValueError(f"more than {GPUS_MAX} GPUs")
    devices, numbers = (np.asarray(tree.get(key) or range(count), np.int64) for key in ("devices", "rank_numbers"))
    place_at = np.full((nodes, per_node), -1)
    place_at.put(devices, range(count))
    place_at[[node for node in (tree.get("placement") or {}).get("spare_nodes", ())]] = -2
    view = _view(order, sizes, axis or (all_groups[0] if len(all_groups) == 1 else next((name for name in order[::-1] if sizes[name] > 1), order[0])), np.arange(count))

    most = max(256 // per_node, 1)
    used = (place_at >= 0).any(1).nonzero()[0] if nodes > most else np.array([0, nodes - 1])
    first, end = int(used[0]), int(used[-1]) + 1
    shown = end - first if end - first <= most else max(64 // per_node, 1)
    d.text(16, 30, f"mesh {shape} on {tree['platform']}", 16)
    d.text(16, 54, f"{_plural(count, 'rank')} on {_plural(nodes, 'node')} of {_plural(per_node, 'GPU')}; on each GPU its rank and its coordinates, outermost axis first", 13)
    y = 54.0
    for name in order:
        y += 20
        colours = "; a colour for each group, seven in turn" if name == view.axis else ""
        d.text(16, y, f"{name}: {_plural(count // sizes[name], 'group')} of {sizes[name]}{f' over {tiers[name]}' if tiers[name] else ''}{colours}", 13)
    y = _draw_nodes(d, tree, view, numbers, place_at[:first + shown], first, y + 8)
    if shown < end - first:
        y = _draw_overview(d, tree, view, numbers, place_at[:end], first, f"all {end - first} nodes, the first {shown} of them above", y + 8)
    own = tree.get("expert_mesh")
    names, expert_sizes = (list(own), own) if own else (order, sizes)
    if expert_sizes.get("ep", 1) > 1 and (own or view.axis != "ep"):
        what = "experts: " + " x ".join(f"{name} {expert_sizes[name]}" for name in names)
        y = _draw_overview(d, tree, _view(names, expert_sizes, "ep", np.arange(count)), numbers, place_at[:end], first, what, y + 8, True)
    if nodes > end - first:
        d.text(16, y + 24, f"not drawn: {_plural(nodes - end + first, 'node')} without ranks", 13)
    return d.figure(y + (32 if nodes > end - first else 8))


def _pale(key: int, share: float) -> str:
    """The colour of a group, so much of it on white, under black letters; of -1 nothing, of -2 a spare GPU."""
    colour = (IDLE_CELL, SPARE_CELL)[-1 - key] if key < 0 else (*COLOURS[:6], "#f0e442")[key % 7]
    share = 1 if key < 0 else share
    return "#" + "".join(f"{round(255 - share * (255 - int(colour[i:i + 2], 16))):02x}" for i in (1, 3, 5))


def _tip(tree: Tree, view: _View, numbers: Any, gpu: int, place: int) -> str:
    coordinates = ", ".join(f"{name} {way[place]}" for name, way in zip(view.names, view.ways))
    return f"GPU {gpu}: {('idle', 'spare')[-1 - place]}" if place < 0 else f"GPU {gpu}: rank {numbers[place]}, {coordinates}; group {view.groups[place]} of {view.axis}"


def _columns(gpus: int) -> int:
    return gpus if gpus <= 4 else 4 if gpus <= 16 else 9 if gpus % 9 == 0 else 8 if gpus <= 512 else 64


def _draw_nodes(d: _Drawing, tree: Tree, view: _View, numbers: Any, place_at: Any, first: int, y: float) -> float:
    """Nodes in full, with a new row for each unit of the fabric."""
    gpus, unit, x = min(tree["gpus_per_node"], 256), tree["unit_nodes"] or 0, 16.0
    columns = min(_columns(gpus), 9)
    width, height = max(76, 56 * columns + 12), 24 + 34 * -(-gpus // columns)
    for node in range(first, len(place_at)):
        is_first = unit > 0 and (node == first or node % unit == 0)
        if node > first and (is_first or x + width > WIDTH - 16):
            x, y = 16.0, y + height + 8
        if is_first:
            d.text(x, y + 13, f"unit {node // unit} of the fabric, {unit} nodes")
            y += 20
        d.box(x, y, width, height, "#ffffff")
        d.text(x + 6, y + 13, f"node {node}" + (f": the first {gpus} of {tree['gpus_per_node']} GPUs" if gpus < tree["gpus_per_node"] else ""), 11, width - 12, color="#444444")
        for gpu, place in enumerate(place_at[node, :gpus].tolist()):
            left, top = x + (width - 56 * columns) / 2 + gpu % columns * 56, y + 18 + gpu // columns * 34
            d.box(left, top, 56, 34, _pale(int(view.groups[place]) if place >= 0 else place, 0.5), "" if place >= 0 else ("idle", "spare")[-1 - place],
                  _tip(tree, view, numbers, node * tree["gpus_per_node"] + gpu, place), "#ffffff", 11)
            if place >= 0:
                d.text(left + 28, top + 15, str(numbers[place]), 13, 50, weight="bold", ha="center")
                d.text(left + 28, top + 28, ",".join(str(way[place]) for way in view.ways), 10, 50, ha="center")
        x += width + 8
    return y + height


def _draw_overview(d: _Drawing, tree: Tree, view: _View, numbers: Any, place_at: Any, first: int, what: str, y: float, must_group: bool = False) -> float:
    """All nodes in small."""
    import numpy as np
    nodes, per_node, unit = len(place_at) - first, tree["gpus_per_node"], tree["unit_nodes"] or 0
    places, is_by_gpu, each = place_at[first:], nodes * per_node <= 4096, -(-nodes // 16384)
    outer = next((i for i, way in enumerate(view.ways) if way.max() > 0), len(view.ways) - 1)
    is_grouped = is_by_gpu or must_group
    keys = np.where(places >= 0, (view.groups if is_grouped else view.ways[outer])[places], places)
    if not is_by_gpu and must_group and any(len(set(row[row >= 0])) > 1 for row in keys):
        d.text(16, y + 20, f"{what}; nodes hold ranks of several groups of {view.axis}", 13)
        return y + 30
    cell, of = "each GPU" if is_by_gpu else "each node" if each == 1 else f"each {each} nodes", f"group of {view.axis}" if is_grouped else view.names[outer]
    d.text(16, y + 20, f"{what}; a cell for {cell}, a colour for each {of}, seven in turn", 13)
    y += 30
    columns = _columns(per_node)
    room = int((WIDTH - 104) / (9 * columns + 4 if is_by_gpu else 6))
    per_row = max(room, 1) if is_by_gpu else room - room % (unit // each) if 0 < unit // each <= room else room
    height = 9 * -(-per_node // columns) + 4 if is_by_gpu else 7
    firsts = keys[np.arange(nodes), (keys >= 0).argmax(1)]
    for row, start in enumerate(range(0, nodes, per_row * each)):
        top, cells = y + row * height, range(start, min(start + per_row * each, nodes), each)
        if is_by_gpu or row % 2 == 0:
            d.text(80, top + 8, f"node {first + start}", 10, ha="right", color="#444444")
        for column, gpu in itertools.product(range(len(cells)) if is_by_gpu else (), range(per_node)):
            node = cells[column]
            d.box(88 + column * (9 * columns + 4) + gpu % columns * 9, top + gpu // columns * 9, 8, 8, _pale(int(keys[node, gpu]), 0.7),
                  tip=_tip(tree, view, numbers, (first + node) * per_node + gpu, int(places[node, gpu])), edge="none")
        for key, run in itertools.groupby(() if is_by_gpu else enumerate(cells), lambda cell: int(firsts[cell[1]])):
            alike = list(run)
            name = ("idle", "spare")[-1 - key] if key < 0 else f"group {key} of {view.axis}" if is_grouped else f"{view.names[outer]} {key}"
            d.box(88 + 6 * alike[0][0], top, 6 * len(alike) - 1, 6, _pale(key, 0.7), edge="none",
                  tip=f"nodes {first + alike[0][1]} to {first + min(alike[-1][1] + each, nodes) - 1}: {name}")
    return y + -(-nodes // (per_row * each)) * height
