"""The picture of tests/bench/run: CPU time and memory over the number of GPUs, both axes by powers of ten."""

import math

WIDTH, HEIGHT = 1000, 470
PANEL_WIDTH, TOP, BOTTOM = 400, 60, 370
LEFT = (70, 570)
GPUS = (8, 1048576 * 1.3)
SEARCH = "search of the usual space"  # of another model each, so that no line joins them
# Okabe and Ito's colours, as in the other pictures (sim/trace/report/svg.c)
SERIES = {"all-reduce of 1 GiB, flat": "#56b4e9", "all-reduce of 1 GiB, dgx-h100": "#0072b2", "all-reduce of 1 GiB, meta-roce-h100": "#009e73",
          "Llama 3 405B, meta-roce-h100": "#d55e00", "DeepSeek-V3, gb200-nvl72": "#cc79a7", SEARCH: "#e69f00"}
PANELS = (("CPU time", "cpu_s", 1.0, ("1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s"), -3),
          ("peak memory", "peak_B", 1e6, ("10 MB", "100 MB", "1 GB"), 1))


def share(value, low, high):
    return math.log(value / low) / math.log(high / low)


def place_x(left, gpus):
    return left + PANEL_WIDTH * share(gpus, *GPUS)


def axes(left, title, labels, y_of, first):
    yield f'<text x="{left}" y="{TOP - 14}" font-weight="bold">{title}</text>'
    for step, label in enumerate(labels):
        y = y_of(10.0 ** (first + step))
        yield f'<path d="M{left},{y:.1f}H{left + PANEL_WIDTH}" stroke="#ddd"/>'
        yield f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
    for gpus in (8, 1024, 16384, 131072, 1048576):
        x = place_x(left, gpus)
        yield f'<path d="M{x:.1f},{TOP}V{BOTTOM}" stroke="#eee"/>'
        yield f'<text x="{x:.1f}" y="{BOTTOM + 18}" text-anchor="middle">{gpus:,}</text>'
    yield f'<text x="{left + PANEL_WIDTH / 2}" y="{BOTTOM + 38}" text-anchor="middle">GPUs</text>'


def series_of(row):
    return SEARCH if row["table"] == "search" and row["cpu_s"] else row["case"]


def curve(points, colour, is_joined):
    if is_joined:
        path = "L".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for x, y in points:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'


def panel(rows, left, panel_of):
    title, key, unit, labels, first = panel_of
    low, high = 10.0**first, 10.0 ** (first + len(labels) - 1) * (3.0 if key == "peak_B" else 1.5)

    def y_of(value):
        return BOTTOM - (BOTTOM - TOP) * share(max(value, low), low, high)

    yield from axes(left, title, labels, y_of, first)
    for case, colour in SERIES.items():
        points = [(place_x(left, int(row["gpus"])), y_of(float(row[key]) / unit)) for row in rows if series_of(row) == case]
        if points:
            yield from curve(sorted(points), colour, case != SEARCH)


def legend(rows):
    shown = {series_of(row) for row in rows}
    for at, (case, colour) in enumerate((case, colour) for case, colour in SERIES.items() if case in shown):
        x, y = LEFT[0] + 310 * (at % 3), BOTTOM + 66 + 22 * (at // 3)
        yield f'<circle cx="{x + 12}" cy="{y - 4}" r="3.5" fill="{colour}"/>' if case == SEARCH else \
            f'<path d="M{x},{y - 4}H{x + 24}" stroke="{colour}" stroke-width="2"/>'
        yield f'<text x="{x + 30}" y="{y}">{case}</text>'


def draw(rows):
    """The SVG as text."""
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="13">',
             '<rect width="100%" height="100%" fill="#fff"/>',
             f'<text x="{LEFT[0]}" y="26" font-size="16">What a simulation costs, over the number of GPUs</text>']
    for left, panel_of in zip(LEFT, PANELS):
        lines += panel(rows, left, panel_of)
    return "\n".join([*lines, *legend(rows), "</svg>"]) + "\n"
