// The page of a sweep.

const SWEEP_QUANTITIES = [
  ["step_time_s", "step time", "time", true], ["tokens_per_s", "tokens a second", "", false], ["tokens_per_s_per_gpu", "tokens a second per GPU", "", false], ["mfu", "MFU", "share", false],
  ["bubble_fraction", "bubble", "share", true], ["exposed_fraction", "exposed communication", "share", true], ["peak_B", "peak of memory", "bytes", true], ["cost", "USD a step", "", true],
  ["cost_per_million_tokens", "USD per million tokens", "", true], ["energy_J", "energy a step", "energy", true],
  ["training_days", "days of training", "", true], ["training_cost", "USD of the training", "", true], ["training_energy_MWh", "MWh of the training", "", true],
];

// An axis of the sweep: its name, and its values in words.
function axisOf(axis) {
  const keys = Object.keys(axis);
  const count = axis[keys[0]].length;
  const values = Array.from({ length: count }, (_, i) => keys.map((key) => (keys.length > 1 ? `${key.split(".").pop()} ${axis[key][i]}` : String(axis[key][i]))).join(", "));
  return { keys, values, words: keys.map((key) => key.split(".").slice(-2).join(".")).join(", "), places: placesOf(axis[keys[0]]), of: (row) => values.findIndex((_, i) => keys.every((key) => row.settings[key] === axis[key][i])) };
}

// Numbers of values such as "25 Gbit/s" that all have one unit and grow; null for others.
function placesOf(values) {
  const parts = values.map((value) => String(value).match(/^(-?[\d.]+(?:e[+-]?\d+)?)\s*(.*)$/));
  const isOne = parts.every((part) => part && part[2] === parts[0][2]);
  const numbers = isOne ? parts.map((part) => Number(part[1])) : [];
  return isOne && numbers.every((one, i) => i === 0 || one > numbers[i - 1]) ? { numbers, unit: parts[0][2] } : null;
}

// The state of the picture of a sweep: quantity, kind, and the axes that it shows.
class SweepView {
  constructor(result) {
    this.rows = result.rows.map((row, i) => ({ ...row, at: i }));
    this.axes = result.axes.map(axisOf);
    this.quantities = SWEEP_QUANTITIES.filter(([key]) => this.rows.some((row) => isNumber(row[key])));
    const asked = result.picture || { kind: "lines", x: 0, quantity: "step_time_s" };
    this.kind = asked.kind === "heat" && this.axes.length > 1 ? "heat" : "lines";
    this.x = asked.x;
    this.other = this.axes.length > 1 ? (asked.x === 0 ? 1 : 0) : -1;
    this.quantity = this.quantities.some(([key]) => key === asked.quantity) ? asked.quantity : this.quantities[0][0];
    this.fixed = this.axes.map(() => 0);
  }

  // A point in words: its value on each axis.
  words(row) {
    return this.axes.map((axis) => axis.values[axis.of(row)]).join(", ");
  }

  // Rows of the plane that is shown: the axes that have no place in the picture are fixed.
  plane() {
    return this.rows.filter((row) => isNumber(row[this.quantity]) && this.axes.every((axis, a) => a === this.x || a === this.other || axis.of(row) === this.fixed[a]));
  }

  // Options of the plot for this state.
  options() {
    const [, words, unit] = this.quantities.find(([key]) => key === this.quantity);
    return this.kind === "heat" && this.other >= 0 ? this.heat(words, unit) : this.curves(words, unit);
  }

  // Options of coloured fields over two axes.
  heat(words, unit) {
    const [x, y] = [this.axes[this.x], this.axes[this.other]];
    const points = this.plane().map((row) => ({ x: x.of(row), y: y.of(row), value: row[this.quantity], isFaint: row.fits === false, words: `${this.words(row)}: ${format(row[this.quantity], unit)}${row.fits === false ? ", does not fit in memory" : ""}` }));
    return { label: `${words} by ${x.words} and ${y.words}`, fields: true, unit, points, x: { title: x.words, names: x.values }, y: { title: y.words, names: y.values }, height: 110 + 44 * y.values.length };
  }

  // Options of curves over one axis, with a line for each value of another axis.
  curves(words, unit) {
    const [x, other] = [this.axes[this.x], this.other >= 0 ? this.axes[this.other] : null];
    const points = this.plane().map((row) => ({ x: x.places ? x.places.numbers[x.of(row)] : x.of(row), y: row[this.quantity], series: other ? other.of(row) : 0, row, isFaint: row.fits === false,
      words: `${this.words(row)}: ${format(row[this.quantity], unit)}${row.fits === false ? ", does not fit in memory" : ""}` }));
    const series = [...new Set(points.map((point) => point.series))];
    const lines = series.map((one) => [one, points.filter((point) => point.series === one).sort((a, b) => a.x - b.x)]);
    const isLog = x.places && x.places.numbers[0] > 0 && x.places.numbers[x.places.numbers.length - 1] > 8 * x.places.numbers[0];
    const title = x.places && x.places.unit ? `${x.words} [${x.places.unit}]` : x.words;
    return { label: `${words} over ${x.words}`, points, lines, x: { title, unit: "count", isLog, names: x.places ? null : x.values, marks: x.places && x.places.numbers.length <= 12 ? x.places.numbers : null }, y: { title: words, unit, hasZero: true }, height: 400 };
  }
}

// Fill the section with the plot and the choices of its state.
function showPicture(view) {
  const holder = el("div", {});
  const tools = el("div", { className: "tools" });
  const plot = new Plot("sweep-plot", view.options());
  const axes = view.axes.map((axis, i) => [String(i), axis.words]);
  const draw = () => {
    const set = (key) => (value) => {
      view[key] = key === "quantity" || key === "kind" ? value : Number(value);
      if (view.x === view.other) { // an axis has one place: the other one gives way
        const free = view.axes.findIndex((_, i) => i !== view.x);
        view[key === "x" ? "other" : "x"] = key === "x" ? free : view.axes.findIndex((_, i) => i !== view.other);
      }
      draw();
    };
    const rest = view.axes.map((axis, i) => [axis, i]).filter(([, i]) => i !== view.x && i !== view.other);
    const had = document.activeElement && document.activeElement.id;
    tools.replaceChildren(
      choice("quantity", "sweep-quantity", view.quantities.map(([key, words]) => [key, words]), view.quantity, set("quantity")),
      ...(view.axes.length > 1 ? [choice("as", "sweep-kind", [["lines", "lines"], ["heat", "fields"]], view.kind, set("kind"))] : []),
      choice("to the right", "sweep-x", axes, String(view.x), set("x")),
      ...(view.axes.length > 1 ? [choice(view.kind === "heat" ? "upwards" : "a line for each", "sweep-other", axes, String(view.other), set("other"))] : []),
      ...rest.map(([axis, i]) => choice(`${axis.words} at`, `sweep-fixed-${i}`, axis.values.map((value, v) => [String(v), value]), String(view.fixed[i]), (value) => {
        view.fixed[i] = Number(value);
        draw();
      })));
    if (had && document.getElementById(had)) {
      document.getElementById(had).focus({ preventScroll: true });
    }
    plot.set(view.options());
    holder.replaceChildren(view.kind === "heat" || view.other < 0 ? "" : seriesLegend(view.axes[view.other].values));
  };
  put("picture", tools, holder, plot.node, view.rows.some((row) => row.fits === false) ? el("p", { className: "soft" }, "Smaller marks, and '!': does not fit in memory.") : null);
  draw();
}

// Fill the sections with the grid of points and with the bars of the fastest.
function showPoints(view) {
  const of = (row) => `/result/rows/${row.at}`;
  const kept = view.rows.filter((row) => isNumber(row.step_time_s));
  const columns = [
    ...view.axes.flatMap((axis) => axis.keys).map((key) => ({ key: key.split(".").pop(), title: key.split(".").slice(-2).join("."), value: (row) => row.settings[key], ...(kept.every((row) => isNumber(row.settings[key])) ? { unit: "count" } : {}) })),
    ...view.quantities.map(([key, title, unit]) => ({ key: key.replace(/_(s|B|J|fraction)$/, "").replace("_time", ""), title, unit, value: (row) => row[key], path: (row) => `${of(row)}/${key}` })),
    { key: "fits", title: "fits", value: (row) => (row.fits ? "fits" : "does not fit") },
  ];
  const grid = new Grid("points", columns, kept, { caption: "a row for each point; headings sort", example: "tp=4   step<50ms   mfu>20%", text: (row) => Object.entries(row.settings).map(([key, value]) => `${key}=${value}`).join(" ") });
  put("points", grid.node);
  const best = [...kept].sort((a, b) => a.step_time_s - b.step_time_s).slice(0, 10);
  put("time", stacks(kept.length > 10 ? "the ten fastest; bars as long as their steps" : "the fastest first; bars as long as their steps", best.map((row) => [view.words(row), row.step_time_s, row.time_share, figure(`${of(row)}/step_time_s`, "time")])));
}

// Add title, shortest and longest step, and counts.
function showSweepHead(view, result) {
  const kept = view.rows.filter((row) => isNumber(row.step_time_s));
  const best = [...kept].sort((a, b) => a.step_time_s - b.step_time_s)[0];
  const counts = ["points", "simulated", "stored", "refused", "failed"].filter((key) => key === "points" || result.counts[key] > 0);
  put("head", el("h1", {}, DATA.title), el("p", { className: "soft" }, `sweep of ${result.workload || "a workload"} over ${view.axes.map((axis) => axis.words).join("; ")}`));
  if (best) {
    const worst = kept.reduce((one, row) => (row.step_time_s > one.step_time_s ? row : one));
    put("head", el("p", { className: "verdict" }, "The shortest step, ", figure(`/result/rows/${best.at}/step_time_s`, "time"), ", is at ", el("strong", {}, view.words(best)), "; the longest, ", figure(`/result/rows/${worst.at}/step_time_s`, "time"), `, at ${view.words(worst)}.`));
  } else {
    put("head", el("p", { className: "verdict bad" }, "No point could be simulated: below stands why."));
  }
  put("head", el("ul", { className: "tiles" }, ...counts.map((key) => tile(key === "stored" ? "known already" : key, figure(`/result/counts/${key}`, "count"), []))));
}

// Fill the page of a sweep.
function showSweep() {
  const { result } = DATA;
  addSections([["picture", "Picture"], ["points", "Points"], ["time", "Where the time goes"], ["left", "Left out"], ["again", "Make it again"]]);
  const view = new SweepView({ ...result, rows: result.rows });
  section("head", () => showSweepHead(view, result));
  if (view.quantities.length > 0) {
    section("picture", () => showPicture(view));
    section("points", () => showPoints(view));
  } else {
    ["picture", "points", "time"].forEach(drop);
  }
  const left = view.rows.filter((row) => !isNumber(row.step_time_s));
  section("left", () => (left.length === 0 ? drop("left") : put("left", table("points that are no job, or failed", [["point", "text"], ["reason", "text"]], left.map((row) => [view.words(row), row.reason || row.status || ""]), { tall: true, full: true }))));
}
