// Pictures: points, lines and coloured fields, drawn as SVG, so that they print and follow the colours of the page.

const SERIES = ["pp", "tp", "cp", "dp", "recompute", "forward", "other"]; // colours; after the last they come again with other shapes
const SHAPES = [
  (r) => `M${-r},0A${r},${r} 0 1 0 ${r},0A${r},${r} 0 1 0 ${-r},0Z`, (r) => `M${-r},${-r}H${r}V${r}H${-r}Z`, (r) => `M0,${-1.2 * r}L${1.2 * r},${r}H${-1.2 * r}Z`,
  (r) => `M0,${-1.3 * r}L${1.3 * r},0L0,${1.3 * r}L${-1.3 * r},0Z`, (r) => `M0,${1.2 * r}L${1.2 * r},${-r}H${-1.2 * r}Z`,
];
const PLOTS = [];
const CHARACTER = 7.3; // pixels of one in a text, at most

// An SVG element.
function svg(tag, attributes, ...children) {
  const node = document.createElementNS(document.getElementById("svg").namespaceURI, tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "fill" || name === "stroke") {
      node.style[name] = value;
    } else {
      node.setAttribute(name, value);
    }
  }
  node.append(...children);
  return node;
}

// A number beside an axis: without the zeros at its end.
function tickText(number, unit) {
  return format(number, unit).replace(/(\.\d*?)0+(?=\s|$)/, "$1").replace(/\.(?=\s|$)/, "");
}

// Places of ticks between two numbers, `most` of them at most; those of bytes are round in their unit.
function ticks(low, high, unit, isLog, most) {
  if (!isLog) {
    const factor = unit === "bytes" ? (BINARY.find((one) => high >= one[1]) || BINARY[BINARY.length - 1])[1] : 1;
    const step = factor * tick((high - low) / factor, most);
    const first = Math.ceil(low / step - 1e-9);
    return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, i) => (first + i) * step);
  }
  const all = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    all.push(...[1, 2, 5].map((digit) => digit * 10 ** power).filter((one) => one >= low * 0.9999 && one <= high * 1.0001));
  }
  const every = Math.ceil(all.length / most);
  return all.filter((one, i) => i % every === 0);
}

// One axis, which maps numbers to shares of its length. Its ticks are its names, its marks, or round numbers.
class Axis {
  constructor({ title, unit, isLog, names, marks, hasZero }, numbers) {
    Object.assign(this, { title, unit, names, marks, isLog: isLog && numbers.every((one) => one > 0) });
    let [low, high] = [Math.min(...numbers), Math.max(...numbers)];
    if (names) {
      [low, high] = [-0.5, names.length - 0.5];
    } else if (this.isLog) {
      [low, high] = [low / 1.15, high * 1.15];
    } else {
      const least = 0.02 * Math.max(Math.abs(low), Math.abs(high)); // that ticks of four digits tell apart
      if (high - low < least) {
        [low, high] = [(low + high - least) / 2, (low + high + least) / 2];
      }
      const room = 0.06 * (high - low || 1);
      [low, high] = [hasZero && low >= 0 ? 0 : low - room, high + room];
    }
    Object.assign(this, { low, high });
  }

  // Position of a number on the axis, from 0 to 1 at its ends.
  share(number) {
    return this.isLog ? Math.log(number / this.low) / Math.log(this.high / this.low) : (number - this.low) / (this.high - this.low);
  }

  // Ticks as [number, text], at most about `most`.
  ticks(most) {
    const places = this.names ? this.names.map((name, i) => [i, name]) : (this.marks || []).map((one) => [one, tickText(one, this.unit)]);
    const every = Math.max(1, Math.ceil(places.length / most));
    return places.length > 0 ? places.filter((place, i) => i % every === 0) : ticks(this.low, this.high, this.unit, this.isLog, most).map((one) => [one, tickText(one, this.unit)]);
  }
}

// A plot in a frame: points and lines, or coloured fields.
class Plot {
  // options: label, x, y (of Axis), height; points: { x, y, series, words, row }; lines: [series, points]; series: names; onSelect(row).
  constructor(id, options) {
    PLOTS.push(this);
    this.id = id;
    this.point = -1;
    this.frame = el("div", { className: "plot", id });
    this.details = el("p", { className: "details soft", id: `${id}-details`, "aria-live": "polite" });
    this.node = el("div", {}, this.frame, this.details);
    this.set(options);
    new ResizeObserver(() => this.frame.clientWidth !== this.width && this.draw()).observe(this.frame);
  }

  // Show other options: points, lines and axes.
  set(options) {
    Object.assign(this, { lines: [], series: [], fields: null, bands: [] }, options);
    this.point = -1;
    this.details.textContent = this.help();
    this.draw();
  }

  // Words about the keys of the plot.
  help() {
    return this.fields || this.points.length === 0 ? "" : "Arrow keys go from point to point" + (this.onSelect ? ", Enter or a click selects one." : ".");
  }

  // Draw the plot again, in the width of its frame.
  draw() {
    this.width = this.frame.clientWidth;
    if (this.width === 0) {
      return;
    }
    this.area = { left: this.leftOf(), top: 12, right: this.width - 14, bottom: (this.height || 380) - 46 };
    const node = svg("svg", { width: this.width, height: this.height || 380, tabindex: 0, role: "img", "aria-label": `${this.label}; ${this.points.length} points`, "aria-describedby": `${this.id}-details` });
    node.addEventListener("keydown", (event) => this.onKey(event));
    if (this.points.length === 0) {
      node.append(svg("text", { x: 20, y: 40 }, "nothing to show"));
    } else {
      this.xAxis = new Axis(this.x, this.points.map((point) => point.x));
      this.drawAxes(node);
      this.drawBands(node);
      this.fields ? this.drawFields(node) : this.drawPoints(node);
    }
    const had = this.frame.contains(document.activeElement);
    this.frame.replaceChildren(node);
    if (had) {
      node.focus({ preventScroll: true });
    }
  }

  // Room beside the upright axis: for its title and its longest number.
  leftOf() {
    if (this.points.length === 0) {
      return 0;
    }
    this.yAxis = new Axis(this.y, this.points.map((point) => point.y));
    const longest = Math.max(...this.yTicks().map(([, text]) => text.length));
    return Math.min(0.45 * this.width, Math.max(this.width < 600 ? 62 : 92, 26 + CHARACTER * longest));
  }

  yTicks() {
    return this.yAxis.ticks(this.yAxis.names ? 60 : 7);
  }

  px(x) {
    return this.area.left + this.xAxis.share(x) * (this.area.right - this.area.left);
  }

  py(y) {
    return this.area.bottom - this.yAxis.share(y) * (this.area.bottom - this.area.top);
  }

  // Draw both axes with ticks and titles.
  drawAxes(node) {
    const { left, top, right, bottom } = this.area;
    for (const [x, text] of this.xAxis.ticks(Math.max(2, Math.floor((right - left) / (this.xAxis.names ? 110 : 84))))) {
      const middle = Math.min(this.px(x), this.width - CHARACTER * (text.length / 2) - 2); // of the last one, so that the picture does not cut it
      node.append(svg("line", { class: "grid", x1: this.px(x), x2: this.px(x), y1: top, y2: bottom }), svg("text", { x: middle, y: bottom + 17, "text-anchor": "middle" }, text));
    }
    for (const [y, text] of this.yTicks()) {
      node.append(svg("line", { class: "grid", x1: left, x2: right, y1: this.py(y), y2: this.py(y) }), svg("text", { x: left - 7, y: this.py(y) + 4, "text-anchor": "end" }, text));
    }
    node.append(svg("path", { class: "axis", d: `M${left},${top}V${bottom}H${right}` }), svg("text", { x: (left + right) / 2, y: bottom + 38, "text-anchor": "middle" }, this.xAxis.title),
      svg("text", { class: "title", "text-anchor": "middle", transform: `translate(13,${(top + bottom) / 2}) rotate(-90)` }, this.yAxis.title));
  }

  // Lines from one end to the other where y is a factor times x: [factor, class].
  drawBands(node) {
    for (const [factor, name] of this.bands) {
      const low = Math.max(this.xAxis.low, this.yAxis.low / factor);
      const high = Math.min(this.xAxis.high, this.yAxis.high / factor);
      if (low < high) {
        node.append(svg("line", { class: name, x1: this.px(low), x2: this.px(high), y1: this.py(low * factor), y2: this.py(high * factor) }));
      }
    }
  }

  // Draw lines, then points with their shapes and colours; a click selects a point.
  drawPoints(node) {
    for (const [series, points] of this.lines) {
      const path = points.map((point, i) => `${i === 0 ? "M" : "L"}${this.px(point.x).toFixed(1)},${this.py(point.y).toFixed(1)}`).join("");
      node.append(svg("path", { class: "line", stroke: `var(--${SERIES[series % SERIES.length]})`, d: path }));
    }
    this.points.forEach((point, i) => {
      const radius = i === this.point ? 7 : point.isFaint ? 3.5 : 5;
      const mark = svg("path", { class: `mark${i === this.point ? " now" : ""}${point.isFaint ? " faint" : ""}`, transform: `translate(${this.px(point.x).toFixed(1)},${this.py(point.y).toFixed(1)})`,
        d: SHAPES[Math.floor(point.series + Math.floor(point.series / SERIES.length)) % SHAPES.length](radius), fill: `var(--${SERIES[point.series % SERIES.length]})` }, svg("title", {}, point.words));
      mark.addEventListener("click", () => this.go(i, true));
      node.append(mark);
    });
  }

  // Fields of a plane of names, the darker the larger; each with its number where that has room.
  drawFields(node) {
    const values = this.points.map((point) => point.value).filter((value) => value !== null);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const [pale, full] = [rgb(colour("paper")), rgb(colour("heat"))];
    const width = (this.area.right - this.area.left) / this.xAxis.names.length;
    const height = (this.area.bottom - this.area.top) / this.yAxis.names.length;
    for (const point of this.points) {
      const paint = point.value === null ? rgb(colour("panel")) : mix(full, pale, high > low ? 0.08 + (0.92 * (point.value - low)) / (high - low) : 0.5);
      const [x, y] = [this.px(point.x) - width / 2, this.py(point.y) - height / 2];
      const text = point.value === null ? "-" : tickText(point.value, this.unit) + (point.isFaint ? " !" : "");
      const [black, white] = contrasts(paint);
      node.append(svg("rect", { x: x + 1, y: y + 1, width: Math.max(1, width - 2), height: Math.max(1, height - 2), fill: css(paint) }, svg("title", {}, point.words)));
      if (width > 7.2 * text.length + 4 && height > 14) {
        node.append(svg("text", { x: x + width / 2, y: y + height / 2 + 4, "text-anchor": "middle", fill: black > white ? "#000" : "#fff" }, text));
      }
    }
  }

  // Arrow keys go to the next point by x, then y; Enter selects it.
  onKey(event) {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (by !== undefined && !this.fields && this.points.length > 0) {
      event.preventDefault();
      const order = this.points.map((point, i) => i).sort((a, b) => this.points[a].x - this.points[b].x || this.points[a].y - this.points[b].y);
      const place = order.indexOf(this.point);
      this.go(order[place < 0 ? (by > 0 ? 0 : order.length - 1) : (place + by + order.length) % order.length], false);
    } else if (event.key === "Enter" && this.point >= 0 && this.onSelect) {
      this.onSelect(this.points[this.point].row);
    }
  }

  // Go to a point and describe it; isChosen: select its row, too.
  go(i, isChosen) {
    this.point = i;
    this.details.textContent = this.points[i].words;
    this.draw();
    if (isChosen && this.onSelect) {
      this.onSelect(this.points[i].row);
    }
  }
}

// Legend of the series of a plot: shape, colour and name of each.
function seriesLegend(names) {
  return el("ul", { className: "legend" }, ...names.map((name, series) => {
    const mark = svg("svg", { class: "key", width: 16, height: 16, "aria-hidden": "true" },
      svg("path", { class: "mark", transform: "translate(8,8)", d: SHAPES[Math.floor(series + Math.floor(series / SERIES.length)) % SHAPES.length](5), fill: `var(--${SERIES[series % SERIES.length]})` }));
    return el("li", {}, mark, name);
  }));
}
