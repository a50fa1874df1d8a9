// The page of several traces, side by side: the others are compared with the first one.

const ROOT = DATA;

// Let the functions of a single trace show trace i; without an index the page's own data again.
function turnTo(i) {
  DATA = i === undefined ? ROOT : ROOT.traces[i];
  S = DATA.summary;
}

// The name of trace i: its file; with a number in front where two files have one name.
function nameOf(i) {
  const names = ROOT.traces.map(({ trace }) => trace.replace(/\.(h5|hdf5|hdf)$/, ""));
  return new Set(names).size < names.length ? `${i + 1}. ${names[i]}` : names[i];
}

// By how much a number of trace i differs from that of the first trace, in words; a share in points.
function change(i, path, unit) {
  const [first, own] = [at(`/traces/0/summary/${path}`), at(`/traces/${i}/summary/${path}`)];
  if (i === 0 || typeof first !== "number" || typeof own !== "number") {
    return "";
  }
  const by = unit === "share" ? own - first : first === 0 ? NaN : own / first - 1;
  return Number.isNaN(by) ? "" : Math.abs(by) < 5e-5 ? "the same" : `${by > 0 ? "+" : "-"}${(100 * Math.abs(by)).toFixed(2)} ${unit === "share" ? "points" : "%"}`;
}

// The main figures: [words, path in the summary, unit].
const FIGURES = [
  ["step time", "step_time_s", "time"], ["GPUs", "gpus", "count"], ["sequences in a step", "global_batch", "count"], ["tokens a second", "tokens_per_s", ""], ["of each GPU", "tokens_per_s_per_gpu", ""],
  ["MFU", "mfu", "share"], ["bubble", "bubble_fraction", "share"], ["peak of memory", "memory/peak_B", "bytes"], ["capacity", "memory/capacity_B", "bytes"], ["USD a step", "cost", ""], ["USD per million tokens", "cost_per_million_tokens", ""],
  ["energy a step", "energy_J", "energy"], ["days of training", "training_days", ""], ["GPU-hours of training", "training_gpu_hours", ""], ["USD of training", "training_cost", ""], ["MWh of training", "training_energy_MWh", ""],
];

// The first sentence: which run is best, by the step or, where steps hold different numbers of sequences, by tokens a second.
function tracesVerdict() {
  const of = (path) => ROOT.traces.map((trace, i) => at(`/traces/${i}/summary/${path}`));
  const isSame = new Set(of("global_batch")).size === 1;
  const [path, unit, most] = isSame ? ["step_time_s", "time", "the shortest step"] : ["tokens_per_s", "", "the most tokens a second"];
  const values = of(path);
  const [less, more] = ["-", "+"].map((sign) => (text) => text.startsWith(sign) && `${text.slice(1)} ${sign === "-" ? "less" : "more"} than`);
  const best = values.indexOf(isSame ? Math.min(...values) : Math.max(...values));
  const node = el("p", { className: "verdict" }, el("strong", {}, nameOf(best)), ` has ${most}: `, figure(`/traces/${best}/summary/${path}`, unit));
  const by = change(best, path, unit);
  node.append(best === 0 ? "." : `, ${less(by) || more(by) || "the same as"} ${nameOf(0)}, the first.`);
  const costs = of("cost_per_million_tokens");
  if (costs.every((cost) => typeof cost === "number")) {
    const cheap = costs.indexOf(Math.min(...costs));
    node.append(cheap === best ? " It is also the cheapest, at " : ` ${nameOf(cheap)} is the cheapest, at `, figure(`/traces/${cheap}/summary/cost_per_million_tokens`), " USD per million tokens.");
  }
  return node;
}

// Fill the head: title, first sentence, and a tile for each run.
function showTracesHead() {
  const tiles = ROOT.traces.map(({ summary }, i) => tile(nameOf(i), figure(`/traces/${i}/summary/step_time_s`, "time"), [
    i === 0 ? "the first" : change(i, "step_time_s", "time"), `, ${summary.gpus.toLocaleString("en")} GPUs of ${summary.platform}`,
    ...(typeof summary.training_days === "number" ? [", ", figure(`/traces/${i}/summary/training_days`), " days"] : []), ...(typeof summary.training_cost === "number" ? [", ", figure(`/traces/${i}/summary/training_cost`), " USD"] : []),
    ...(summary.memory.fits ? [] : [", ", el("span", { className: "bad" }, "does not fit")]),
  ]));
  put("head", el("h1", {}, `${ROOT.traces.length} runs side by side`), el("p", { className: "soft" }, [...new Set(ROOT.traces.map(({ summary }) => summary.workload))].join(", ")), tracesVerdict(), el("ul", { className: "tiles" }, ...tiles));
}

// Fill the section with the main figures of each run and their distance to the first run's.
function showFigures() {
  const runs = ROOT.traces.map((trace, i) => i);
  const columns = [["what"], ...runs.flatMap((i) => (i === 0 ? [[nameOf(i), "number"]] : [[nameOf(i), "number"], ["change", "number"]]))];
  const words = (name, text) => [name, ...runs.flatMap((i) => (i === 0 ? [text(ROOT.traces[i].summary)] : [text(ROOT.traces[i].summary), ""]))];
  const mesh = (summary) => summary.order.filter((axis) => summary.mesh[axis] > 1).map((axis) => `${axis} ${summary.mesh[axis]}`).join(" x ") || "no parallelism";
  const used = FIGURES.filter(([, path]) => runs.some((i) => typeof at(`/traces/${i}/summary/${path}`) === "number"));
  put("figures", table("main figures, and their distance to those of the first run", columns, [
    words("platform", (summary) => summary.platform), words("mesh", mesh), words("schedule", (summary) => summary.schedule),
    ...used.map(([name, path, unit]) => [name, ...runs.flatMap((i) => (i === 0 ? [figure(`/traces/0/summary/${path}`, unit)] : [figure(`/traces/${i}/summary/${path}`, unit), change(i, path, unit)]))]),
  ], { full: true }));
  put("figures", ...ROOT.traces.slice(1).map(({ differences }, i) => el("p", { className: "soft" }, `Inputs of ${nameOf(i + 1)} ${differences || "are the same"}.`)));
}

// Add the timelines below each other, on one time axis. Returns those of runs that have one.
function showTimelines() {
  const timelines = ROOT.traces.map((trace, i) => {
    turnTo(i);
    put("timeline", el("h3", {}, nameOf(i)));
    return showTimeline(`-${i}`);
  }).filter((timeline) => timeline !== null);
  const most = Math.max(...timelines.map(({ end }) => end));
  for (const timeline of timelines) {
    Object.assign(timeline, { most, view: { from: 0, to: most }, linked: timelines.filter((other) => other !== timeline) });
  }
  turnTo();
  if (timelines.length > 0) {
    timelines[0].choices.append(classChoices(timelines));
  }
  return timelines;
}

// Fill the page of several traces.
function showTraces() {
  addSections([["figures", "The main figures"], ["time", "Where the time goes"], ["timeline", "Timelines, on one time axis"], ["again", "Make it again"], ["keys", "Keys of the timelines"]]);
  section("head", showTracesHead);
  section("figures", showFigures);
  section("time", () => put("time", showSides(ROOT.traces.map(({ summary }, i) => [nameOf(i), nameOf(i), summary, `/traces/${i}/summary`]))));
  const timelines = section("timeline", showTimelines) || [];
  turnTo();
  section("again", () => ROOT.traces.forEach((trace, i) => {
    turnTo(i);
    put("again", el("h3", {}, nameOf(i)));
    showAgain(null);
  }));
  turnTo();
  timelines.forEach(watch);
  (timelines.length > 0 ? showKeys : () => drop("keys"))();
  finish({ timelines });
}
