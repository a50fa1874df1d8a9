// The sections of the page of a trace, beside the timeline.

let S = DATA.summary; // of several traces that of the one that turnTo chose

// ---- the head ----

// The mesh in words.
function meshWords() {
  const sizes = S.order.filter((axis) => S.mesh[axis] > 1).map((axis) => `${axis} ${S.mesh[axis]}`);
  return `${sizes.join(" x ") || "no parallelism"} = ${S.gpus.toLocaleString("en")} GPUs`;
}

// Words about the share of computation and the largest losses of a step.
function verdict() {
  const losses = [["the pipeline bubble", S.bubble_fraction, "/summary/bubble_fraction"]];
  for (const axis of ["tp", "cp", "ep", "pp", "dp"]) {
    losses.push([`${AXIS_WORDS[axis]} communication (${axis}) that nothing hides`, S.time_share[`exposed_${axis}`], `/summary/time_share/exposed_${axis}`]);
  }
  losses.push(["imbalance between ranks of a stage", S.time_share.imbalance, "/summary/time_share/imbalance"]);
  losses.push(["the host and the gradient's norm", S.time_share.other, "/summary/time_share/other"]);
  losses.push(["the optimizer", S.time_share.optimizer, "/summary/time_share/optimizer"]);
  losses.sort((a, b) => b[1] - a[1]);
  const node = el("p", { className: "verdict" }, "Of every step, ", figure("/summary/time_share/compute", "share"), " is computation");
  const large = losses.filter((loss) => loss[1] >= 0.005).slice(0, 3);
  large.forEach(([name, , key], i) => {
    node.append(i === 0 ? ". The largest loss is " : i === large.length - 1 ? ", and " : ", ", name === losses[0][0] ? el("strong", {}, name) : name, ": ", figure(key, "share"));
  });
  node.append(large.length === 0 ? "; nothing else takes 0.5 % of it." : ".");
  return node;
}

// Fill the head: title, verdict and tiles, and notes if the job does not fit or its folding is inexact.
function showHead() {
  const memory = S.memory;
  const steps = S.steps > 1 ? [`mean of ${S.steps - 1} after the first`] : [figure("/summary/global_batch", "count"), " sequences, ", figure("/summary/num_microbatches", "count"), S.num_microbatches === 1 ? " microbatch" : " microbatches"];
  const isKnown = (value) => value !== null && value !== undefined;
  const tiles = [
    tile("step time", figure("/summary/step_time_s", "time"), steps),
    isKnown(S.tokens_per_s) && tile("tokens a second", figure("/summary/tokens_per_s"), [figure("/summary/tokens_per_s_per_gpu"), " per GPU"]),
    isKnown(S.mfu) && tile("MFU", figure("/summary/mfu", "share"), ["HFU ", figure("/summary/hfu", "share"), ", causal MFU ", figure("/summary/mfu_causal", "share")]),
    tile("bubble", figure("/summary/bubble_fraction", "share"), [figure("/summary/bubble_ratio", "share"), " of computation"]),
    memory.peak_B > 0 && tile("peak of memory", figure("/summary/memory/peak_B", "bytes"), [
      "of ", figure("/summary/memory/capacity_B", "bytes"), ": ",
      memory.fits ? el("span", { className: "good" }, "fits") : el("span", { className: "bad" }, "does not fit"), `, rank ${memory.peak_rank}`,
    ]),
    isKnown(S.cost) ? tile("USD a step", figure("/summary/cost"), isKnown(S.cost_per_million_tokens) ? [figure("/summary/cost_per_million_tokens"), " USD per million tokens"] : []) : null,
    isKnown(S.energy_J) ? tile("energy a step", figure("/summary/energy_J", "energy"), isKnown(S.cost) ? [] : ["cost: the platform names no price"]) : null,
    isKnown(S.training_days) ? tile("days of training", figure("/summary/training_days"), [
      figure("/summary/training_tokens"), " tokens, ", figure("/summary/training_gpu_hours"), " GPU-hours",
      ...(isKnown(S.training_cost) ? [", ", figure("/summary/training_cost"), " USD"] : []),
      ...(isKnown(S.training_energy_MWh) ? [", ", figure("/summary/training_energy_MWh"), " MWh"] : []),
    ]) : null,
  ];
  put(
    "head",
    el("h1", {}, S.workload),
    el("p", { className: "soft" }, `${S.platform} · ${meshWords()} · ${S.schedule}, ${S.order.join(", ")} (outermost first)`),
    verdict(),
    el("ul", { className: "tiles" }, ...tiles.filter((one) => one)),
    isKnown(S.mfu) ? el("p", { className: "soft" }, `FLOP convention: ${S.flop_convention}.`) : null,
  );
  if (!memory.fits) {
    put("head", el("p", { className: "note" }, "Does not fit: rank ", String(memory.peak_rank), " needs ", figure("/summary/memory/peak_B", "bytes"), " of ", figure("/summary/memory/capacity_B", "bytes"), "."));
  }
  if (S.step_time_bounds_s) {
    put("head", el("p", { className: "note" }, "Not folded exactly: the step lies between ", figure("/summary/step_time_bounds_s/0", "time"), " and ", figure("/summary/step_time_bounds_s/1", "time"), "."));
  }
}

// ---- where the time goes ----

// Fill the section with the shares of the step by category.
function showTime() {
  const used = SHARES.filter(([key]) => S.time_share[key] > 0);
  const rows = used.map(([key, name, words, meaning]) => [
    el("span", {}, swatch(name), words), figure(`/summary/time_share/${key}`, "share"), format(S.time_share[key] * S.step_time_s, "time"),
    bar([[S.time_share[key] / Math.max(...Object.values(S.time_share)), name, `${words} ${percent(S.time_share[key])}`]], { thin: true }), meaning,
  ]);
  const total = Object.values(S.time_share).reduce((sum, share) => sum + share, 0);
  const sum = ["all", el("span", { id: "share-sum" }, percent(total)), figure("/summary/step_time_s", "time"), "", "mean over all GPUs"];
  sum.isSum = true;
  put(
    "time",
    bar(used.map(([key, name, words]) => [S.time_share[key], name, `${words} ${percent(S.time_share[key])}`, `${words} ${(100 * S.time_share[key]).toFixed(1)} %`])),
    table(null, [["what"], ["share", "number"], ["of a step", "number"], ["", "grow secondary"], ["meaning", "wide-text secondary"]], [...rows, sum], { full: true }),
  );
  const none = SHARES.filter(([key]) => S.time_share[key] === 0).map(([, , words]) => words);
  if (none.length > 0) {
    put("time", el("p", { className: "soft" }, `Nothing goes to: ${none.join("; ")}.`));
  }
}

// ---- by pipeline rank ----

// For each pipeline rank [pp, row of /ranks]: the rank that the timeline shows, or that stands for most ranks.
function stageRows() {
  const ranks = DATA.tables.ranks;
  const rows = new Map();
  const shown = new Set(DATA.rows.map((row) => row.rank));
  ranks.rank.forEach((rank, i) => {
    const before = rows.get(ranks.pp[i]);
    const isBetter = before === undefined || (!shown.has(ranks.rank[before]) && (shown.has(rank) || ranks.multiplicity[i] > ranks.multiplicity[before]));
    if (isBetter) {
      rows.set(ranks.pp[i], i);
    }
  });
  return [...rows.entries()].sort((a, b) => a[0] - b[0]);
}

// For each pipeline rank its time on the critical path, and the median slack of its passes [s].
function pathOfStages(timeline) {
  const stages = new Map();
  const of = (pp) => stages.get(pp) || stages.set(pp, { path: 0, slack: [] }).get(pp);
  timeline.path.pp.forEach((pp, i) => {
    of(pp).path += (timeline.path.end[i] - timeline.path.start[i]) / PS;
  });
  for (let i = 0; i < timeline.items.count; i++) {
    if (timeline.items.slack[i] >= 0 && timeline.items.mb[i] >= 0) {
      of(DATA.rows[timeline.items.row[i]].pp).slack.push(timeline.items.slack[i]);
    }
  }
  for (const stage of stages.values()) {
    stage.slack.sort((a, b) => a - b);
    stage.median = stage.slack.length > 0 ? stage.slack[Math.floor(stage.slack.length / 2)] / PS : null;
  }
  return stages;
}

// Fill the section with time, memory, path and slack of each pipeline rank.
function showStages(timeline) {
  const ranks = DATA.tables.ranks;
  if (!ranks) {
    drop("stages");
    return;
  }
  const paths = timeline ? pathOfStages(timeline) : new Map();
  const most = ranks.peak_B.reduce((peak, bytes) => Math.max(peak, bytes), 0);
  const isNear = most > 0.4 * S.memory.capacity_B;
  const capacity = isNear ? Math.max(S.memory.capacity_B, most) : most;
  const usedShares = SHARES.filter(([key]) => ranks[`${key}_s`].some((time) => time > 0));
  const usedMemory = MEMORY_PARTS.filter(([key]) => ranks[key].some((bytes) => bytes > 0));
  const rows = stageRows().map(([pp, i]) => {
    const path = paths.get(pp);
    return [
      `pp ${pp}`, el("span", { className: "secondary" }, `${ranks.rank[i]}${ranks.multiplicity[i] > 1 ? ` (${ranks.multiplicity[i]})` : ""}`),
      bar(usedShares.map(([key, name, words]) => [ranks[`${key}_s`][i] / S.step_time_s, name, `${words} ${format(ranks[`${key}_s`][i], "time")}`]), { thin: true }),
      figure(`/tables/ranks/compute_s/${i}`, "time"),
      bar(usedMemory.map(([key, name, words]) => [ranks[key][i] / capacity, name, `${words} ${format(ranks[key][i], "bytes")}`]), { thin: true }),
      figure(`/tables/ranks/peak_B/${i}`, "bytes"), figure(`/tables/ranks/inflight_peak/${i}`, "count"),
      path ? format(path.path, "time") : "", path && path.median !== null ? format(path.median, "time") : "",
    ];
  });
  put(
    "stages",
    el("p", { className: "soft" }, "A row for each pipeline rank, as the simulated rank of it that stands for most others",
      most > 0 ? `; memory at each rank's own peak, its bar as long as ${format(capacity, "bytes")}, ${capacity === S.memory.capacity_B ? "the capacity." : "the highest peak."}` : "; the job has no model, and so no memory."),
    legend(usedShares.map(([, name, words]) => [name, words])), legend(usedMemory.map(([, name, words]) => [name, words])),
    table("time and memory of each pipeline rank", [["stage"], ["rank (of)", "rank secondary"], ["where its time goes", "grow"], ["compute", "number secondary"], ["memory by class", "grow"],
      ["peak", "number"], ["in flight", "number secondary"], ["on the critical path", "number secondary"], ["median slack", "number secondary"]], rows, { full: true, tall: true }),
    most > 0 ? memoryTable(ranks, usedMemory) : null,
  );
}

// The memory of each pipeline rank by use, in numbers.
function memoryTable(ranks, used) {
  const rows = stageRows().map(([pp, i]) => [`pp ${pp}`, ...used.map(([key]) => figure(`/tables/ranks/${key}/${i}`, "bytes")), figure(`/tables/ranks/peak_B/${i}`, "bytes")]);
  const columns = [["stage"], ...used.map(([, name, words]) => [words, "number"]), ["peak", "number"]];
  return el("details", {}, el("summary", {}, "memory by class in numbers"), table("memory of each pipeline rank at its peak", columns, rows, { tall: true }));
}

// ---- the critical path ----

const PATH_PARTS = [
  ["compute", "compute"], ["optimizer", "optimizer"], ["imbalance", "imbalance"], ["tp", "tp"], ["cp", "cp"], ["ep", "ep"], ["pp", "pp"], ["dp", "dp"], ["other", "other"],
];

// Fill the section with the time on the critical path by category, and the causes of idle time.
function showPath(timeline) {
  const used = PATH_PARTS.filter(([key]) => S.critical_path[key] > 0);
  const parts = used.map(([key, name]) => [S.critical_path[key] / S.step_time_s, name, `${key} ${format(S.critical_path[key], "time")}`, `${key} ${((100 * S.critical_path[key]) / S.step_time_s).toFixed(1)} %`]);
  const rows = used.map(([key, name]) => [el("span", {}, swatch(name), AXIS_WORDS[key] && key !== "other" ? `${AXIS_WORDS[key]} communication (${key})` : key), figure(`/summary/critical_path/${key}`, "time"), percent(S.critical_path[key] / S.step_time_s)]);
  const sum = ["all", format(used.reduce((all, [key]) => all + S.critical_path[key], 0), "time"), percent(used.reduce((all, [key]) => all + S.critical_path[key], 0) / S.step_time_s)];
  sum.isSum = true;
  put("path", el("p", { className: "soft" }, "The chain of operations, each waiting for the one before it, that is as long as the step: what is on it has to get faster for the step to get shorter."), bar(parts),
    el("div", { className: "sides" }, table("what is on it", [["what"], ["time", "number"], ["share", "number"]], [...rows, sum]), timeline ? causes(timeline) : null));
}

// A table of idle time between passes by category and awaited operation, mean over the rows of the timeline.
function causes(timeline) {
  const { items } = timeline;
  const sums = new Map();
  const places = new Map([[-1, "the pipeline rank before"], [1, "the pipeline rank behind"], [0, "its own pipeline rank"]]);
  for (let i = 0; i < items.count; i++) {
    if (items.code[i] >= DATA.idle_code && !(items.marks[i] & PART)) {
      const category = DATA.categories[items.code[i] - DATA.idle_code] || "unknown";
      const apart = items.causePp[i] - DATA.rows[items.row[i]].pp;
      const kind = items.causeKind[i] < 0 ? "the host, or what is not in the trace" : DATA.kinds[items.causeKind[i]];
      const where = items.causeKind[i] < 0 ? "" : category.startsWith("exposed_") ? (items.marks[i] & FOREIGN ? " among other ranks" : " of its own") : ` on ${places.get(apart) || "another pipeline rank"}`;
      const key = `${category.replace("_", " ")}: ${kind}${where}`;
      sums.set(key, (sums.get(key) || 0) + (items.end[i] - items.start[i]) / PS);
    }
  }
  const rows = [...sums.entries()].sort((a, b) => b[1] - a[1]).slice(0, 12);
  const note = "between passes, mean over the rows of the timeline" + (S.steps > 1 ? ", all steps together" : "");
  return table(`what idle time waits for, ${note}`, [["waiting for"], ["time", "number"]], rows.map(([key, time]) => [key, format(time / DATA.rows.length, "time")]));
}

// ---- communication ----

// Fill the section with communication by axis, tier, link and collective.
function showCommunication() {
  const axes = Object.keys(S.comm).filter((axis) => S.comm[axis].busy_s > 0);
  if (axes.length === 0) {
    put("communication", el("p", {}, "No rank sends anything."));
  } else {
    put("communication", table("a GPU's own communication in a step, mean over all GPUs", [["axis"], ["sent", "number"], ["busy", "number"], ["stalling", "number"], ["overlapped", "number"], ["in idle", "number"], ["waiting", "number"], ["tier", "secondary"]],
      axes.map((axis) => [el("span", {}, swatch(axis), axis), ...["bytes_per_rank", "busy_s", "exposed_s", "overlapped_s", "in_idle_s", "wait_s"].map((key, i) => figure(`/summary/comm/${axis}/${key}`, i === 0 ? "bytes" : "time")), (S.mesh_tiers && S.mesh_tiers[axis]) || ""])));
  }
  const sides = el("div", { className: "sides" });
  put("communication", sides);
  sides.append(tiersTable(), linksTable());
  if (S.collectives.length > 0) {
    const order = S.collectives.map((row, i) => i).sort((a, b) => S.collectives[b].count_per_rank * S.collectives[b].time_s - S.collectives[a].count_per_rank * S.collectives[a].time_s);
    const rows = order.map((i) => {
      const of = `/summary/collectives/${i}`;
      const row = S.collectives[i];
      return [`${row.axis} ${row.kind}`, row.tier, row.algorithm, figure(`${of}/count_per_rank`, "count"), figure(`${of}/size_B`, "bytes"), figure(`${of}/time_s`, "time"), row.alone_s > 0 ? `${Math.max(0, (100 * row.time_s) / row.alone_s - 100).toFixed(1)} %` : "", figure(`${of}/busbw_Bps`, "rate")];
    });
    put("communication", table("collectives and messages, by the time they take", [["what"], ["tier"], ["algorithm"], ["on a GPU", "number"], ["size", "number"], ["time", "number"], ["slowed by sharing links", "number"], ["busbw", "number"]], rows, { tall: true }));
  }
}

// A table of the platform's tiers and their load.
function tiersTable() {
  const tiers = DATA.tables.tiers;
  const rows = tiers.name.map((name, i) => {
    const used = S.tiers[name] || { bytes: 0, busy_s: 0, peak_use: 0 };
    return [name, figure(`/tables/tiers/bandwidth_Bps/${i}`, "rate"), percent(tiers.efficiency[i]), figure(`/tables/tiers/latency_s/${i}`, "time"), figure(`/tables/tiers/links/${i}`, "count"),
      used.bytes > 0 ? figure(`/summary/tiers/${name}/bytes`, "bytes") : "unused", used.bytes > 0 ? figure(`/summary/tiers/${name}/busy_s`, "time") : "", used.bytes > 0 ? percent(used.peak_use) : ""];
  });
  return table("tiers, innermost first: a link of each, and how busy the busiest is", [["tier"], ["bandwidth", "number"], ["reached", "number secondary"], ["latency", "number"], ["links", "number secondary"], ["carried", "number"], ["busy", "number"], ["peak", "number"]], rows);
}

// A table of the three busiest links of each tier.
function linksTable() {
  const { links, tiers } = DATA.tables;
  if (!links || links.name.length === 0) {
    return el("p", { className: "soft" }, links ? "No link carries anything." : "Too many links to list here; /links of the trace has them.");
  }
  const order = links.busy_s.map((busy, i) => i).sort((a, b) => links.busy_s[b] - links.busy_s[a]);
  const rows = tiers.name.flatMap((name, tier) => order.filter((i) => links.tier[i] === tier).slice(0, 3)).map((i) => [
    links.name[i], tiers.name[links.tier[i]], figure(`/tables/links/busy_s/${i}`, "time"), percent(links.busy_s[i] / (DATA.end_ps / PS)), figure(`/tables/links/bytes/${i}`, "bytes"), percent(links.peak_use[i]),
  ]);
  return table("the busiest links of each tier", [["link", "text"], ["tier"], ["busy", "number"], ["of the run", "number"], ["carried", "number"], ["peak", "number secondary"]], rows);
}

// ---- what-ifs, kernels ----

// Fill the section of the what-ifs, if the trace has them.
function showWhatif() {
  const rows = DATA.tables.whatif;
  if (!rows || rows.length === 0) {
    put("whatif", el("p", { className: "soft" }, "The trace holds none: ", el("code", {}, "meshsim run ... --whatif -o TRACE.h5"), " simulates the job again with one thing better, each."));
    return;
  }
  put("whatif", whatifTable(rows, "/tables/whatif"));
}

// Fill the section with the kernels by their time in a step.
function showKernels() {
  const order = S.kernels.map((row, i) => i).sort((a, b) => S.kernels[b].count * S.kernels[b].time_s - S.kernels[a].count * S.kernels[a].time_s);
  if (order.length === 0) {
    drop("kernels");
    return;
  }
  const all = S.kernels.reduce((sum, row) => sum + row.count * row.time_s, 0);
  const rows = order.map((i) => {
    const of = `/summary/kernels/${i}`;
    const row = S.kernels[i];
    return [row.name, row.shape, figure(`${of}/count`, "count"), figure(`${of}/time_s`, "time"), format(row.count * row.time_s, "time"), percent((row.count * row.time_s) / all),
      row.flop_per_s > 0 ? figure(`${of}/flop_per_s`, "flops") : "", row.bound];
  });
  put("kernels", table("on a GPU in a step, mean over all, by the time they take", [["kernel"], ["shape"], ["calls", "number"], ["each", "number"], ["together", "number"], ["share", "number"], ["rate", "number"], ["bound by"]], rows, { tall: true }));
}
