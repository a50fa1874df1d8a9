// The page of a search.

const QUANTITIES = [
  // key, words, unit, whether less is better
  ["step_time_s", "step time", "time", true], ["peak_B", "memory per GPU", "bytes", true], ["cost", "USD a step", "", true], ["cost_per_million_tokens", "USD per million tokens", "", true],
  ["energy_J", "energy a step", "energy", true], ["tokens_per_s", "tokens a second", "", false], ["mfu", "MFU", "share", false], ["bubble_fraction", "bubble", "share", true], ["gpus", "GPUs", "count", true],
  ["training_days", "days of training", "", true], ["training_cost", "USD of the training", "", true], ["training_energy_MWh", "MWh of the training", "", true],
];

// Whether a value is a number: null stands for unknown ones.
function isNumber(value) {
  return typeof value === "number";
}

// The quantities that some row has.
function quantitiesOf(rows) {
  return QUANTITIES.filter(([key]) => rows.some((row) => isNumber(row[key])) && (key !== "gpus" || new Set(rows.map((row) => row.gpus)).size > 1));
}

// A candidate in words.
function candidateWords(row) {
  const mesh = row.order.map((axis) => `${axis} ${row.mesh[axis]}`).join(" x ");
  return `${mesh}, ${row.schedule}${row.v > 1 ? ` v ${row.v}` : ""}, micro ${row.micro_batch}, recompute ${row.recompute}, zero ${row.zero}`;
}

// A word of a command line, in quotes where a shell would not leave it as it is.
function shellWord(word) {
  return /^[\w+=./:,%@-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`;
}

// The command line that runs a candidate by itself.
function commandOf(row) {
  const sets = Object.entries(row.settings).map(([key, value]) => `--set ${shellWord(`${key}=${value}`)}`);
  return ["meshsim run " + shellWord(DATA.subject), ...sets].join(" \\\n  ");
}

// Add title, best candidate and its tiles.
function showSearchHead(result) {
  const best = result.results[0];
  const of = "/result/results/0";
  const goal = QUANTITIES.find(([key]) => key === result.objective);
  put("head", el("h1", {}, DATA.title), el("p", { className: "soft" }, `search: best ${goal ? goal[1] : result.objective}${result.second_objective ? ` and ${result.second_objective}` : ""}`, ` of ${result.counts.enumerated.toLocaleString("en")} candidates`));
  if (result.partial) {
    put("head", el("p", { className: "note" }, "The search was interrupted: better ones may be among the rest."));
  }
  if (!best) {
    put("head", el("p", { className: "verdict bad" }, result.partial ? "Nothing was found by then." : "Nothing is feasible: below stands why."));
    return;
  }
  if (result.offers !== undefined) {
    const offers = result.results.map((row, i) => [row, `/result/results/${i}`]).filter(([row]) => row.best_of);
    const time = (row, at) => (isNumber(row.training_days) ? el("span", {}, figure(`${at}/training_days`, ""), " days") : figure(`${at}/step_time_s`, "time"));
    const cost = (row, at) => ["training_cost", "cost"].filter((key) => isNumber(row[key])).slice(0, 1).flatMap((key) => [figure(`${at}/${key}`, ""), key === "cost" ? " USD a step, " : " USD, "]);
    put("head", el("p", { className: "verdict", id: "headline" }, `${result.offers.join("; ")}.`),
      el("ul", { className: "tiles", id: "offers" }, ...offers.map(([row, at]) => tile(row.platform, time(row, at), [...cost(row, at), figure(`${at}/gpus`, "count"), " GPUs"]))));
  }
  put("head", el("p", { className: "verdict" }, "The best is ", el("strong", {}, candidateWords(best)), ". It is limited by ", best.limited_by, ": ", figure(`${of}/limit_share`, "share"), " of the step."),
    el("ul", { className: "tiles" }, ...QUANTITIES.filter(([key]) => isNumber(best[key])).map(([key, words, unit]) => tile(words, figure(`${of}/${key}`, unit), []))),
    el("p", { className: "soft" }, "By itself:"), el("pre", { id: "best-command", tabIndex: 0 }, commandOf(best)));
}

// All candidates of the page in order: the best, others that were simulated, then those that were only estimated. `of` is the path of a row in the data.
function searchRows(result) {
  const listed = (list, of) => list.map((row, i) => ({ ...row, of: `${of}/${i}` }));
  return [...listed(result.results, "/result/results"), ...listed(result.rest.results, "/result/rest/results")].map((row, at) => ({ ...row, at }));
}

// Whether a candidate was simulated, not only estimated.
function isSimulated(row) {
  return isNumber(row.step_time_s);
}

// Columns of the grid of candidates: only keys that vary and shares that are not 0.
function searchColumns(result, rows) {
  const of = (row) => row.of;
  const isUsed = (key) => rows.some((row) => isSimulated(row) && row.time_share[key] > 0);
  const axes = ["pp", "dp", "ep", "cp", "tp"].filter((axis) => rows.some((row) => (row.mesh[axis] || 1) > 1));
  const varies = (key) => new Set(rows.map((row) => row[key])).size > 1;
  const plain = [["schedule", "schedule"], ["v", "v", "count"], ["micro_batch", "micro", "count"], ["recompute", "recompute"], ["zero", "ZeRO", "count"], ["gpus", "GPUs", "count"], ["platform", "platform"]].filter(([key]) => varies(key));
  const own = /^(mesh\..*|platform\.(file|nodes)|schedule\.(kind|v)|batch\.micro|recompute|data_parallel\.zero)$/; // keys that other columns show
  const settings = [...new Set(rows.flatMap((row) => Object.keys(row.settings)))].filter((key) => !own.test(key) && new Set(rows.map((row) => String(row.settings[key]))).size > 1);
  const best = rows[0][result.objective];
  return [
    { key: "rank", title: "#", unit: "count", value: (row) => row.at + 1 },
    ...axes.map((axis) => ({ key: axis, title: axis, unit: "count", value: (row) => row.mesh[axis] || 1 })),
    ...plain.map(([key, title, unit]) => ({ key: key.replace("_batch", ""), title, unit, value: (row) => row[key] })),
    ...settings.map((key) => ({ key: key.replace(/\W/g, "_"), title: key.split(".").slice(-2).join("."), value: (row) => (row.settings[key] === undefined ? "" : String(row.settings[key])) })),
    { key: "step", title: "step", unit: "time", value: (row) => row.step_time_s, path: (row) => `${of(row)}/step_time_s` },
    ...(isNumber(best) && best !== 0 ? [{ key: "distance", title: "to the best", unit: "share", value: (row) => (isNumber(row[result.objective]) ? row[result.objective] / best - 1 : undefined) }] : []),
    ...(rows.every(isSimulated) ? [] : [{ key: "estimate", title: "estimate", unit: "time", value: (row) => row.estimate_s, path: (row) => `${of(row)}/estimate_s` }]),
    { key: "memory", title: "memory", unit: "bytes", value: (row) => row.peak_B, path: (row) => `${of(row)}/peak_B` },
    { key: "bubble", title: "bubble", unit: "share", value: (row) => row.bubble_fraction, path: (row) => `${of(row)}/bubble_fraction` },
    ...["tp", "cp", "ep", "pp", "dp"].filter((axis) => isUsed(`exposed_${axis}`)).map((axis) => ({ key: `exposed_${axis}`, title: `exposed ${axis}`, unit: "share", value: (row) => (isSimulated(row) ? row.time_share[`exposed_${axis}`] : undefined), path: (row) => `${of(row)}/time_share/exposed_${axis}` })),
    ...(isNumber(rows[0].mfu) ? [{ key: "mfu", title: "MFU", unit: "share", value: (row) => row.mfu, path: (row) => `${of(row)}/mfu` }] : []),
    ...(isNumber(rows[0].cost) ? [{ key: "cost", title: "USD a step", unit: "", value: (row) => row.cost, path: (row) => `${of(row)}/cost` }] : []),
    ...[["training_days", "days"], ["training_cost", "USD, training"], ["training_energy_MWh", "MWh"]].filter(([key]) => isNumber(rows[0][key])).map(([key, title]) => ({ key, title, unit: "", value: (row) => row[key], path: (row) => `${of(row)}/${key}` })),
    { key: "limited_by", title: "limited by", value: (row) => row.limited_by, className: "rank" },
    { key: "limit", title: "its share", unit: "share", value: (row) => row.limit_share, path: (row) => `${of(row)}/limit_share` },
  ];
}

// The Pareto front of points: those than which no other one is better in both x and y. A sign is 1 where less is better, else -1.
function frontier(points, xSign, ySign) {
  const order = [...points].sort((a, b) => xSign * (a.x - b.x) || ySign * (a.y - b.y));
  let least = Infinity;
  return order.filter((point) => {
    const isOn = ySign * point.y < least;
    least = Math.min(least, ySign * point.y);
    return isOn;
  });
}

// Options of the plot of candidates by two quantities, with their Pareto front as a line.
function candidatePlot(rows, x, y, onSelect) {
  const of = (key) => QUANTITIES.find((one) => one[0] === key);
  const [xOf, yOf] = [of(x), of(y)];
  const points = rows.filter((row) => isNumber(row[x]) && isNumber(row[y])).map((row) => ({
    x: row[x], y: row[y], series: 0, row, isFaint: true, words: `# ${row.at + 1}: ${candidateWords(row)}; ${xOf[1]} ${format(row[x], xOf[2])}, ${yOf[1]} ${format(row[y], yOf[2])}`,
  }));
  const front = frontier(points, xOf[3] ? 1 : -1, yOf[3] ? 1 : -1);
  front.forEach((point) => Object.assign(point, { series: 1, isFaint: false }));
  return { label: `candidates by ${xOf[1]} and ${yOf[1]}`, x: { title: xOf[1], unit: xOf[2] }, y: { title: yOf[1], unit: yOf[2] }, points, lines: front.length > 1 ? [[1, front]] : [], onSelect };
}

// Fill the section with the plot, and choices of its two quantities.
function showCandidates(rows, grid) {
  const quantities = quantitiesOf(rows);
  let [x, y] = [quantities[0][0], (quantities[1] || quantities[0])[0]];
  const options = () => candidatePlot(rows, x, y, (row) => grid.select(row));
  const plot = new Plot("candidates-plot", { ...options() });
  const names = quantities.map(([key, words]) => [key, words]);
  put("candidates", el("p", { className: "soft" }, "Candidates that were simulated; larger marks on the line: those than which none is better by both (Pareto)."),
    el("div", { className: "tools" }, choice("to the right", "plot-x", names, x, (value) => {
      x = value;
      plot.set(options());
    }), choice("upwards", "plot-y", names, y, (value) => {
      y = value;
      plot.set(options());
    })), seriesLegend(["beaten in both", "beaten by none in both"]), plot.node);
}

// Scopes of the grid: [value, words, whether a row is shown]; a scope that shows no more rows than the one before is left out.
function searchScopes(result, rows) {
  const count = (list) => list.length.toLocaleString("en");
  const [best, simulated] = [result.results, rows.filter(isSimulated)];
  return [
    ["best", result.second_objective ? best.length === 1 ? "the one that none beats by both" : `the ${count(best)} that none beats by both` : `the best ${count(best)}`, (row) => row.at < best.length],
    ["simulated", `all ${count(simulated)} that were simulated`, isSimulated],
    ["all", `all ${count(rows)}, with those that were only estimated`, () => true],
  ].filter(([, , is], i, all) => i === 0 || rows.filter(is).length > rows.filter(all[i - 1][2]).length);
}

// Words about how many candidates were simulated, estimated and listed.
function scopeWords(result, rows) {
  const { simulated } = result.counts;
  const { estimated } = result.rest;
  const listed = rows.filter((row) => !isSimulated(row)).length;
  const left = simulated - result.equal_orders + estimated - rows.length;
  const many = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
  const were = (count) => (count === 1 ? "was" : "were");
  const only = estimated === 0 ? "." : `, and ${estimated.toLocaleString("en")} that ${estimated === 1 ? "fits" : "fit"} ${were(estimated)} estimated and not simulated${result.partial ? " by then" : ", as none of them could be among the best"}.`;
  return `Of ${many(result.counts.enumerated, "candidate")} ${simulated.toLocaleString("en")} ${were(simulated)} simulated${only}`
    + (result.equal_orders > 0 ? ` ${many(result.equal_orders, "job")} with the figures of a listed one and its axes in another order ${were(result.equal_orders)} left out.` : "")
    + (left > 0 ? ` Listed are the ${(rows.length - listed).toLocaleString("en")} and ${listed.toLocaleString("en")} best of both; ${left.toLocaleString("en")} are not.` : "");
}

// Fill the sections of the grid and of the bars; a selected candidate is shown beside the best.
function showResults(result) {
  const rows = searchRows(result);
  const details = el("div", { id: "selected", "aria-live": "polite" });
  const tell = (row) => details.replaceChildren(
    ...(row.at === 0 || !isSimulated(row) ? [] : [stacks(`# ${row.at + 1} beside the best`, [rows[0], row].map((one) => [`# ${one.at + 1}`, one.step_time_s, one.time_share, format(one.step_time_s, "time")]))]),
    el("p", {}, `# ${row.at + 1}: ${candidateWords(row)}${isSimulated(row) ? "" : "; estimated, not simulated"}`), el("pre", { tabIndex: 0 }, commandOf(row)));
  const select = (row) => {
    tell(row);
    fitBars();
  };
  const grid = new Grid("results", searchColumns(result, rows), rows, { caption: "candidates, the best first; headings sort, and the number of a row sets it beside the best", scopes: searchScopes(result, rows), example: "tp=8   step<1.5s   zbv   mfu>40%", onSelect: select,
    text: (row) => `${candidateWords(row)} ${Object.entries(row.settings).map(([key, value]) => `${key}=${value}`).join(" ")}` });
  put("results", el("p", { className: "soft", id: "scope-words" }, scopeWords(result, rows)), grid.node, details);
  put("time", stacks("the first ten; bars as long as their steps", rows.slice(0, Math.min(10, result.results.length)).map((row) => [el("span", { title: candidateWords(row) }, `# ${row.at + 1}`), row.step_time_s, row.time_share, figure(`/result/results/${row.at}/step_time_s`, "time")])));
  showCandidates(rows, grid);
}

const COUNTS = [
  ["illegal", "imbalance", "cannot be: sizes, layers, schedules or keys contradict each other, or the mesh does not fill the GPUs"],
  ["does_not_fit", "wait", "need more memory than a GPU has, by the estimate that 'check' prints"],
  ["beyond_limits", "ep", "are above what --max lets pass"],
  ["pruned", "bubble", "left out unsimulated: their lower bound is above the last of the wanted ones, so that none could be among them"],
  ["simulated", "cp", "simulated, best estimate first"],
  ["failed", "tp", "failed in the simulation"],
  ["of_other_shards", "other", "simulated by other shards"],
];

// Fill the section with the numbers of candidates by outcome.
function showCounts(result) {
  const used = COUNTS.filter(([key]) => result.counts[key] > 0);
  const all = Math.max(result.counts.enumerated, 1);
  const sum = ["all", figure("/result/counts/enumerated", "count"), "enumerated"];
  sum.isSum = true;
  put("counts", bar(used.map(([key, paint]) => [result.counts[key] / all, paint, `${key.replace(/_/g, " ")} ${result.counts[key]}`, `${key.replace(/_/g, " ")} ${((100 * result.counts[key]) / all).toFixed(1)} %`])),
    table(null, [["what"], ["candidates", "number"], ["meaning", "text"]], [...used.map(([key, paint, words]) => [el("span", {}, swatch(paint), key.replace(/_/g, " ")), figure(`/result/counts/${key}`, "count"), words]), sum]),
    ...(result.untried_schedules ? [el("p", { className: "soft", id: "untried" }, `Schedules left out: ${result.untried_schedules}. '--usual --vary schedule.kind=...' tries them.`)] : []));
}

// Fill a section with the reasons of refusals or failures; drop it if there are none.
function showReasons(id, list, key, words) {
  if (list.length === 0) {
    drop(id);
    return;
  }
  const rows = list.map((row, i) => [row.reason, figure(`/result/${key}/${i}/count`, "count"), el("code", {}, Object.entries(row.settings).map(([name, value]) => `${name}=${value}`).join(" "))]);
  put(id, el("p", { className: "soft" }, words), table("reasons, the most frequent first", [["reason", "text"], ["candidates", "number"], ["one of them", "text secondary"]], rows, { tall: true, full: true }));
}

// Fill the page of a search.
function showSearch() {
  const { result } = DATA;
  addSections([["results", "The best ones"], ["candidates", "Where candidates lie"], ["time", "Where the time goes"], ["counts", "What was looked at"], ["whatif", "What one change would buy the best one"],
    ["illegal", "What cannot be, and why"], ["failed", "What failed"], ["again", "Make it again"]]);
  section("head", () => showSearchHead(result));
  if (result.results.length > 0) {
    section("results", () => showResults(result));
  } else {
    ["results", "candidates", "time"].forEach(drop);
  }
  section("counts", () => showCounts(result));
  section("whatif", () => (result.whatif && result.whatif.length > 0 ? put("whatif", whatifTable(result.whatif, "/result/whatif"))
    : put("whatif", el("p", { className: "soft" }, "Not asked for: ", el("code", {}, "--whatif"), " simulates the best one again with one thing better, each."))));
  section("illegal", () => showReasons("illegal", result.illegal, "illegal", "A candidate counts by the first thing that is wrong with it; the reason is what 'meshsim check' says of it."));
  section("failed", () => showReasons("failed", result.failed, "failed", "Candidates that are sound by their files, and could not be simulated."));
}
