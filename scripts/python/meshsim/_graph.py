"""Platforms and meshes as pictures, from what `platform --json`, `mesh --json` and `check --json` print."""

from __future__ import annotations

import itertools
import math
from typing import Any, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from meshsim.plot import COLOURS, canvas, plain, quantity, styled, tell

WIDTH, LEFT, RIGHT, ROW, BOX = 1000, 210, 966, 96, 34
"""units of a picture, 3/4 of a point: all of it, the graph right of what its tiers are, the distance of its rows, and the height of a box"""
CORE, SPINE, LEAF, NODE, INSIDE, UNUSED = "#f3cf80", "#80cfb9", "#abdaf4", "#f2f2f2", "#e6bcd3", ("#ffffff", "#eaae80")
USES = ("idle", "spare")
GPUS_MAX, CELLS_MAX, CHIPS_MAX = 1 << 24, 4096, 256
Tree = Mapping[str, Any]


class _Drawing:
    """Boxes, lines and texts of a picture whose y runs down."""

    def __init__(self) -> None:
        self.boxes: List[Tuple[List[Tuple[float, float]], str, str, str]] = []
        self.lines: List[List[Tuple[float, float]]] = []
        self.texts: List[Tuple[float, float, str, Any]] = []

    def box(self, x: float, y: float, width: float, height: float, fill: str, label: str = "", tip: str = "", edge: str = "#999999", size: float = 12) -> None:
        self.boxes.append(([(x, y), (x + width, y), (x + width, y + height), (x, y + height)], fill, edge, tip or label))
        self.text(x + width / 2, y + height / 2, label, size, width - 4, ha="center", va="center_baseline")

    def text(self, x: float, y: float, text: str, size: float = 12, room: float = WIDTH - 32, **look: Any) -> None:
        """A text, smaller where it would leave its room, and none where nobody could read it."""
        size = min(size, room / (0.62 * max(len(plain(text, 160)), 1)))
        if text and size >= 6:
            self.texts.append((x, y, plain(text, 160), {"size": 0.75 * size, **look}))

    def tier(self, tree: Tree, name: str, y: float) -> None:
        """What a tier is, left of the graph."""
        tier = next(tier for tier in tree["tiers"] if tier["name"] == name)
        self.text(16, y, f"{name}: {tier['links']} links", 12, LEFT - 20, weight="bold")
        self.text(16, y + 16, f"{_speed(tier)} a link, {quantity(tier['latency_s'], 's')}", 12, LEFT - 20, color="#444444")

    def figure(self, height: float) -> Any:
        from matplotlib.collections import LineCollection, PolyCollection
        figure, axes = canvas(0.75 * WIDTH, 0.75 * height)
        axes.set(xlim=(0, WIDTH), ylim=(height, 0))
        axes.axis("off")
        corners, fills, edges, tips = zip(*self.boxes)
        axes.add_collection(LineCollection(self.lines, colors="#888888", linewidths=0.8, zorder=1))
        tell(axes.add_collection(PolyCollection(corners, facecolors=fills, edgecolors=edges, linewidths=0.75, zorder=2)), tips)
        for x, y, text, look in self.texts:
            axes.text(x, y, text, zorder=3, **look)
        return figure


def _speed(tier: Tree) -> str:
    return quantity(tier["capacity_Bps"], "bit/s" if tier["in_bits"] else "B/s")


def _whole(number: Any, what: str = "number of GPUs") -> int:
    if not isinstance(number, int) or not 0 < number <= GPUS_MAX:
        raise ValueError(f"the {what} is none from 1 to {GPUS_MAX}")
    return number


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


# ---- platforms ----

@styled
def platform(tree: Tree) -> Any:
    """A platform: its levels of switches or its tori with the first and the last units of many, and one node opened up; what a job leaves idle where there
    is a placement.  tree: what `meshsim platform --json` prints.  Raises KeyError, TypeError or ValueError for another tree."""
    import numpy as np
    d, layout, per_node, is_torus = _Drawing(), tree["layout"], tree["gpus_per_node"], "shape" in tree["layout"]
    uses = np.zeros(_whole(tree["nodes"] * per_node), np.int8)
    for first, last in tree.get("unused_gpus", ()):
        uses[first:last + 1] = 1
    for node in tree.get("placement", {}).get("spare_nodes", ()):
        uses[node * per_node:(node + 1) * per_node] = 2
    d.text(16, 26, f"{tree['platform']}: {tree['nodes']} nodes of {per_node} x {tree['gpu']['name']}", 18, weight="bold")
    d.text(16, 46, f"{tree['gpus']} GPUs · {tree['links']} links", 13, color="#444444")
    y = (_draw_torus if is_torus else _draw_switches)(d, tree, layout, uses)
    for i, word in enumerate(("with a rank", *USES) if "placement" in tree else ()):
        d.box(LEFT + 220 * i, y + 14, 12, 12, (LEAF if is_torus else NODE, *UNUSED)[i])
        d.text(LEFT + 220 * i + 18, y + 25, f"{_count(int((uses == i).sum()), 'GPU')} {word}")
    return d.figure(y + (34 if "placement" in tree else 8))


def _draw_switches(d: _Drawing, tree: Tree, layout: Tree, uses: Any) -> float:
    per_node, per_unit, leaves, units = tree["gpus_per_node"], layout["nodes_per_unit"], _whole(layout["leaves_per_unit"]), _whole(layout["units"])
    wanted = [0, units - 1, *(uses.nonzero()[0] // (per_unit * per_node)).tolist(), *range(min(units, 6))]
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
            d.lines += [[(left + width / 2, y), (left + width / 2, y - ROW + BOX)]] if layout["core_tier"] else []
        d.tier(tree, layout["spine_tier"], y + BOX + 20)
        y += ROW
    d.text(16, y + BOX / 2 + 4, "one leaf switch per rail" if leaves > 1 else "leaf switches", 12, LEFT - 20)
    d.tier(tree, layout["port_tier"], y + BOX + 20)
    for column, unit in enumerate(shown):
        left, width, nodes, drawn = LEFT + pitch * column, pitch - 14, min(per_unit, tree["nodes"] - unit * per_unit), min(leaves, 16)
        for i in range(drawn):
            x = left + width / drawn * (i + 0.5)
            d.lines.append([(x, y - ROW + BOX if layout["spine_tier"] else y), (x, y + ROW)])
            d.box(x - width / drawn / 2, y, width / drawn - 2, BOX, LEAF, "leaf" if leaves == 1 else ".." if i == 15 < leaves - 1 else str(i))
        d.box(left, y + ROW, width, BOX, NODE)
        own = uses[unit * per_unit * per_node:][:nodes * per_node].reshape(nodes, per_node)
        for (count, use), run in itertools.groupby(range(nodes), lambda node: (int((own[node] != 0).sum()), int(own[node].max()))):
            alike = list(run)  # from the top the share of a node that no rank has
            if count:
                d.box(left + width * alike[0] / nodes, y + ROW, width * len(alike) / nodes, BOX * count / per_node, UNUSED[use - 1])
        name = (f"unit {unit}: " if units > 1 else "") + _count(nodes, "node")
        d.text(left + width / 2, y + ROW + BOX / 2, name, 12, width - 4, ha="center", va="center_baseline")
        d.text(left - 11, y + ROW + BOX / 2 + 4, ".." if column and unit != shown[column - 1] + 1 else "")
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
    shape, pods, y = layout["shape"], _whole(layout["pods"]), 66.0
    columns, rows = min(shape[0], 16), min([*shape, 1][1], 16)
    if pods > 1:
        d.box(LEFT, y, RIGHT - LEFT, BOX, CORE, layout["port_tier"])
        d.tier(tree, layout["port_tier"], y + 16)
        y += 62
    for pod in range(min(pods, 3)):
        left, right, top, bottom = LEFT + 260 * pod + 8, LEFT + 260 * pod + 15 * columns + 8, y + 32, y + 15 * rows + 32
        d.text(left - 8, y + 16, f"pod {pod}: {' x '.join(map(str, shape))}", 12, 240)
        d.lines += [[(left + 100, y - 28), (left + 100, y)]] if pods > 1 else []
        d.lines += [[(left, top + 8 + 15 * row), (right, top + 8 + 15 * row)] for row in range(rows) if columns > 1]
        d.lines += [[(left + 7 + 15 * column, top), (left + 7 + 15 * column, bottom)] for column in range(columns) if rows > 1]
        for row, column in itertools.product(range(rows), range(columns)):
            chip = pod * math.prod(shape) + row * shape[0] + column
            d.box(left + 3 + 15 * column, top + 4 + 15 * row, 8, 8, (LEAF, *UNUSED)[uses[chip]], tip=f"chip {chip}")
    d.tier(tree, tree["tiers"][0]["name"], y + 54)
    y += max(40 + 15 * rows, 80) + 18
    d.text(16, y, f"{'first of ' if pods > 3 else ''}{_count(pods, 'pod')}; one plane of each is drawn{', piles of planes are closed likewise' if len(shape) > 2 else ''}; "
           "lines that leave a plane come back on the other side", 11, color="#666666")
    return y


# ---- Graphviz ----

class _Vertex(NamedTuple):
    """A shape of a graph with its edges to others: name, tier ("": without a label), links."""

    name: str
    label: Sequence[object]
    shape: str
    edges: Sequence[Tuple[str, str, int]] = ()


def platform_dot(tree: Tree) -> str:
    """A platform as a graph for Graphviz: nodes one by one up to 64, then units, and one shape for each level where there are more than 1,024 leaf switches;
    of tori chips up to 256, then pods.  tree: as for `platform`."""
    def quoted(text: object) -> str:
        return plain(text, 1000).replace("\\", "\\\\").replace('"', '\\"')

    is_torus, speeds = "shape" in tree["layout"], {tier["name"]: _speed(tier) for tier in tree["tiers"]}
    lines = [f"// {quoted(tree['platform'])}: {tree['nodes']} nodes, {tree['gpus']} GPUs; bandwidths are achieved ones, per direction",
             "graph platform {", "  rankdir=BT;", '  node [fontname="sans-serif"];', '  edge [fontname="sans-serif", fontsize=9];',
             *[f'  label="{_speed(tree["tiers"][0])} a link and direction";'] * (is_torus and tree["gpus"] <= CHIPS_MAX)]
    for vertex in (_torus_graph if is_torus else _switch_graph)(tree, tree["layout"]):
        label = "\\n".join(map(quoted, vertex.label))
        lines.append(f"  {vertex.name} [{vertex.shape and f'shape={vertex.shape}, '}label=\"{label}\"];")
        lines += [f"  {vertex.name} -- {end}" + (f" [label=\"{f'{count} x ' if count > 1 else ''}{speeds[tier]}\"]" if tier else "") + ";" for end, tier, count in vertex.edges]
    return "\n".join([*lines, "}", ""])


def _switch_graph(tree: Tree, layout: Tree) -> List[_Vertex]:
    nodes, gpus, leaves, units = _whole(tree["nodes"]), f"{tree['gpus_per_node']} x {tree['gpu']['name']}", _whole(layout["leaves_per_unit"]), _whole(layout["units"])
    port, spine, core, pods = layout["port_tier"], layout["spine_tier"], layout["core_tier"], layout["pods"]
    if units * leaves > 1024:
        pairs = {tier["name"]: tier["links"] // 2 for tier in tree["tiers"]}
        return [_Vertex("nodes", (f"{nodes} nodes", f"each {gpus}"), "", [("leaf", port, pairs[port])]),
                _Vertex("leaf", [f"{units * leaves} leaf switches"], "box", [("spine", spine, pairs[spine])] if spine else ()),
                *([_Vertex("spine", [_count(pods, "spine layer")], "box", [("core", core, pairs[core])] if core else ())] if spine else []),
                *([_Vertex("core", ["1 core layer"], "box")] if core else [])]
    size = 1 if nodes <= 64 else layout["nodes_per_unit"]
    graph = []
    for first in range(0, nodes, size):
        count, unit = min(size, nodes - first), first // layout["nodes_per_unit"]
        label = (f"node {first}", gpus) if nodes <= 64 else (f"nodes {first} to {first + count - 1}", f"{count} x {gpus}")
        edges = [(f"leaf{leaf}", port, layout["ports_per_node"] // leaves * count) for leaf in range(unit * leaves, (unit + 1) * leaves)]
        graph.append(_Vertex(f"node{first}" if nodes <= 64 else f"unit{unit}", label, "", edges))
    for leaf in range(units * leaves):
        edges = [(f"spine{leaf // leaves // layout['units_per_pod']}", spine, layout["links_per_leaf"])] if spine else []
        graph.append(_Vertex(f"leaf{leaf}", ("leaf", f"unit {leaf // leaves}" + (f" rail {leaf % leaves}" if layout["has_rails"] else "")), "box", edges))
    graph += [_Vertex(f"spine{pod}", [f"spine of pod {pod}"], "box", [("core", core, layout["links_per_pod"])] if core else ()) for pod in range(pods if spine else 0)]
    return graph + ([_Vertex("core", ["core"], "box")] if core else [])


def _torus_graph(tree: Tree, layout: Tree) -> List[_Vertex]:
    import numpy as np
    shape, pods, link, port = layout["shape"], _whole(layout["pods"]), tree["tiers"][0], layout["port_tier"]
    has_chips, drawn = tree["gpus"] <= CHIPS_MAX, pods if pods <= 64 else 1
    ends = tree["nodes"] if has_chips else drawn
    ports = [("network", port, tree["nodes"] // ends * tree["nics_per_node"])] if pods > 1 else []
    if has_chips:
        chips = np.arange(tree["gpus"]).reshape(pods, *shape[::-1])
        pairs = {(min(pair), max(pair)) for axis in range(1, chips.ndim) for pair in zip(chips.flat, np.roll(chips, -1, axis).flat) if pair[0] != pair[1]}
        graph = [_Vertex(f"chip{chip}", [chip], "circle", [(f"chip{end}", "", 1) for start, end in sorted(pairs) if start == chip]
                         + (ports if chip % tree["gpus_per_node"] == 0 else [])) for chip in range(tree["gpus"])]
    else:
        label = f"{' x '.join(map(str, shape))} x {tree['gpu']['name']}", f"{_speed(link)} a link and direction"
        graph = [_Vertex(f"pod{pod}", (f"{pods} pods, each" if drawn < pods else f"pod {pod}", *label), "", ports) for pod in range(drawn)]
    return graph + ([_Vertex("network", [port], "box")] if pods > 1 else [])


# ---- meshes ----

class _View(NamedTuple):
    """Groups of an axis of a mesh: values for each place, counted as the axes stand."""

    names: Sequence[str]
    ways: Sequence[Any]
    groups: Any
    axis: str


def _view(names: Sequence[str], sizes: Tree, axis: str, places: Any) -> _View:
    import numpy as np
    ways, groups = np.unravel_index(places, [_whole(sizes[name]) for name in names]), 0 * places
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
    d, per_node, nodes, unit = _Drawing(), _whole(tree["gpus_per_node"]), _whole(tree["nodes"]), tree["unit_nodes"]
    order, sizes, tiers, told = tree["order"], tree.get("sizes") or tree["mesh"], tree.get("tiers") or tree["mesh_tiers"], list(tree.get("groups") or ())
    count = _whole(math.prod(_whole(sizes[name]) for name in order))
    numbers = np.asarray(tree["rank_numbers"] or range(count), np.int64)
    place_at = np.full((nodes, _whole(nodes * per_node) // nodes), -1)
    place_at.put(tree["devices"] or range(count), range(count))
    place_at[list((tree.get("placement") or {}).get("spare_nodes", ()))] = -2
    innermost = next((name for name in order[::-1] if sizes[name] > 1), order[0])
    view = _view(order, sizes, axis or (told[0] if len(told) == 1 else innermost), np.arange(count))

    def shape(of: Tree, names: Sequence[str]) -> str:
        return " x ".join(f"{name} {of[name]}" for name in names)

    def tips(of: _View, places: Any, first_gpu: int) -> List[str]:
        coordinates = [", ".join(f"{name} {way[place]}" for name, way in zip(of.names, of.ways)) for place in places]
        return [f"GPU {gpu}: {USES[-1 - place]}" if place < 0 else f"GPU {gpu}: rank {numbers[place]}, {where}; group {of.groups[place]} of {of.axis}"
                for gpu, (place, where) in enumerate(zip(places, coordinates), first_gpu)]

    def overview(of: _View, what: str, y: float, must_group: bool = False) -> float:
        places, is_by_gpu, each = place_at[first:end], (end - first) * per_node <= CELLS_MAX, -(-(end - first) // CELLS_MAX)
        outer = next((i for i, way in enumerate(of.ways) if way.max() > 0), len(of.ways) - 1)
        is_grouped = is_by_gpu or must_group
        keys = np.where(places >= 0, (of.groups if is_grouped else of.ways[outer])[places], places)
        if not is_by_gpu and must_group and any(len(set(row[row >= 0])) > 1 for row in keys):
            d.text(16, y + 20, f"{what}; nodes hold ranks of several groups of {of.axis}", 13)
            return y + 30
        cell, name = "each GPU" if is_by_gpu else "each node" if each == 1 else f"each {each} nodes", f"group of {of.axis}" if is_grouped else of.names[outer]
        d.text(16, y + 20, f"{what}; a cell for {cell}, a colour for each {name}, seven in turn", 13)
        if is_by_gpu:
            return _draw_cells(d, y + 30, first, 1, per_node, keys.ravel().tolist(), tips(of, places.ravel().tolist(), first * per_node))
        cells = keys[np.arange(end - first), (keys >= 0).argmax(1)][::each].tolist()
        words = [USES[-1 - key] if key < 0 else f"group {key} of {of.axis}" if is_grouped else f"{name} {key}" for key in cells]
        ends = [f"nodes {node} to {min(node + each, end) - 1}: {word}" for node, word in zip(range(first, end, each), words)]
        size = unit // each if unit and 8 * each <= unit <= 64 * each else 64
        return _draw_cells(d, y + 30, first, size * each, size, cells, ends)

    most = max(256 // per_node, 1)
    used = (place_at >= 0).any(1).nonzero()[0] if nodes > most else np.array([0, nodes - 1])
    first, end = int(used[0]), int(used[-1]) + 1
    shown = end - first if end - first <= most else max(64 // per_node, 1)
    d.text(16, 30, f"mesh {shape(sizes, order)} on {tree['platform']}", 16)
    d.text(16, 54, f"{_count(count, 'rank')} on {_count(nodes, 'node')} of {_count(per_node, 'GPU')}{f', {unit} nodes a unit of the fabric' if unit else ''}; on each GPU its rank and its coordinates, outermost axis first", 13)
    for i, name in enumerate(order):
        colours = "; a colour for each group, seven in turn" if name == view.axis else ""
        d.text(16, 74 + 20 * i, f"{name}: {_count(count // sizes[name], 'group')} of {sizes[name]}{f' over {tiers[name]}' if tiers[name] else ''}{colours}", 13)
    gpus = min(per_node, 256)
    cut = place_at[first:first + shown, :gpus].ravel().tolist()
    keys = [int(view.groups[place]) if place >= 0 else place for place in cut]
    texts = [(USES[-1 - place], "") if place < 0 else (str(numbers[place]), ",".join(str(way[place]) for way in view.ways)) for place in cut]
    y = _draw_cells(d, 62 + 20 * len(order), first, 1, gpus, keys, tips(view, cut, first * per_node), texts, unit or 0)
    if shown < end - first:
        y = overview(view, f"all {end - first} nodes, the first {shown} of them above", y + 8)
    own = tree.get("expert_mesh") or sizes
    names = order if own is sizes else list(own)
    if own.get("ep", 1) > 1 and (own is not sizes or view.axis != "ep"):
        y = overview(_view(names, own, "ep", np.arange(count)), f"experts: {shape(own, names)}", y + 8, True)
    d.text(16, y + 24, f"not drawn: {_count(nodes - end + first, 'node')} without ranks" if nodes > end - first else "", 13)
    return d.figure(y + (32 if nodes > end - first else 8))


def _draw_cells(d: _Drawing, y: float, first: int, step: int, size: int, keys: Sequence[int], tips: Sequence[str], texts: Sequence[Tuple[str, str]] = (), unit: int = 0) -> float:
    """Cells of GPUs or nodes in blocks of some size, coloured by their keys: in small, or with two texts each in a frame for each node.
    first: node of the first block; step: nodes of a block; unit: nodes of a unit of the fabric.  Returns where they end."""
    columns = size if size <= 4 else 4 if size <= 16 else 9 if size % 9 == 0 else 8
    width, height, head, x0, share = (56, 34, 18, 16, 0.5) if texts else (9, 9, 0, 88, 0.7)
    across, down = max(76 * bool(texts), width * columns + 12 * bool(texts)), height * -(-size // columns) + 24 * bool(texts)
    gap = 8 if texts else 4
    per_row = max((WIDTH - 16 - x0 + gap) // (across + gap), 1)
    for block, start in enumerate(range(0, len(keys), size)):
        x, top, node = x0 + block % per_row * (across + gap), y + block // per_row * (down + gap), first + block * step
        if texts:
            d.box(x, top, across, down, "#ffffff")
            d.text(x + 6, top + 13, f"node {node}" + (f", unit {node // unit} of the fabric" if unit else ""), 11, across - 12, color="#444444")
        elif block % per_row == 0:
            d.text(80, top + 8, f"node {node}", 10, ha="right", color="#444444")
        for i, (key, tip) in enumerate(zip(keys[start:start + size], tips[start:])):
            left, upper = x + (across - width * columns) / 2 + i % columns * width, top + head + i // columns * height
            colour = ("#eeeeee", "#bbbbbb")[-1 - key] if key < 0 else (*COLOURS[:6], "#f0e442")[key % 7]
            pale = "#" + "".join(f"{round(255 - (1 if key < 0 else share) * (255 - int(colour[j:j + 2], 16))):02x}" for j in (1, 3, 5))
            number, where = texts[start + i] if texts else ("", "")
            d.box(left, upper, width - (not texts), height - (not texts), pale, "" if where else number, tip, "#ffffff" if texts else "none", 11)
            if where:
                d.text(left + 28, upper + 15, number, 13, 50, weight="bold", ha="center")
                d.text(left + 28, upper + 28, where, 10, 50, ha="center")
    return y + -(-len(keys) // (size * per_row)) * (down + gap)
