// The section "Assumptions": the numbers of the platform on which the step depends most, their sources, and a grade of how reliable each is.

const GRADES = [
  // [grade, pattern of the comment behind a number, meaning]; the first pattern that matches counts
  ["given", /^\((?!default)/, "given with the run, in place of the file's"],
  ["default", /^\(default\)/, "nobody said another"],
  ["estimate", /\bestimate|upper bound|EXAMPLE|no survey/, "an educated guess"],
  ["fitted", /\bfit\b|\bfitted\b/i, "made to agree with measurements"],
  ["measured", /\bmeasured\b|\breached\b|\breach\b|MAMF|\bissues?\b/, "by somebody, on such hardware"],
  ["data sheet", /data sheet|whitepaper|user guide|specification|reference architecture|nvidia-smi|NVIDIA, |NVIDIA [A-Z]/i, "of the maker"],
  ["published", /Source:|arXiv|NCCL|default|tuning\.cc/, "in a paper or in code"],
];

// Lines "key: comment" by key, in their order.
function readSources() {
  const text = (DATA.inputs.find(({ name }) => name === "sources") || { text: "" }).text;
  return new Map(text.split("\n").filter((line) => line.includes(": ") || line.includes(":")).map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]));
}

// The values of the platform's text, which stands in block style, by key.
function readPlatform() {
  const text = (DATA.inputs.find(({ name }) => name === "platform") || { text: "" }).text;
  const values = new Map();
  const path = ["platform"];
  for (const line of text.split("\n")) {
    const found = line.match(/^( *)([^:#\s][^:]*):(?: (.*))?$/);
    if (found) {
      path.length = 1 + found[1].length / 2;
      path.push(found[2]);
      values.set(path.join("."), found[3] || "");
    }
  }
  return values;
}

// Grade of a key's comment. "as above" and "the same" have the grade of the key before, "as the rail" that of the same key of that tier.
function gradeOf(key, sources) {
  const comment = sources.get(key);
  if (comment === undefined) {
    return "not said";
  }
  const keys = [...sources.keys()];
  const tier = comment.match(/^as the (\w+)/);
  const other = tier ? key.replace(/tiers\.\w+/, `tiers.${tier[1]}`) : keys[keys.indexOf(key) - 1];
  if ((tier || /^(as above|the same)/.test(comment)) && other !== key && sources.has(other)) {
    return gradeOf(other, sources);
  }
  const grade = GRADES.find(([, words]) => words.test(comment));
  return grade ? grade[0] : "not said";
}

// Share of the step that the kernels take for which isOf(row) holds.
function shareOfKernels(isOf) {
  const time = (rows) => rows.reduce((sum, row) => sum + row.count * row.time_s, 0);
  const all = time(S.kernels);
  return all > 0 ? (time(S.kernels.filter(isOf)) / all) * (S.time_share.compute + S.time_share.optimizer) : 0;
}

// Share of the step that waits for axes whose collectives are bound by a tier.
function shareOfTier(name) {
  const axes = new Set(S.collectives.filter((row) => row.tier === name).map((row) => row.axis));
  return [...axes].reduce((sum, axis) => sum + (axis === "other" ? S.other_parts.norm : S.time_share[`exposed_${axis}`] || 0), 0);
}

// The numbers that matter, as [key, share of the step that the number decides directly], largest share first.
function numbersThatMatter(values) {
  const isAttention = (row) => /^attention(_backward|_grad)?$/.test(row.name);
  const products = shareOfKernels((row) => row.bound === "compute" && !isAttention(row));
  const attention = shareOfKernels((row) => row.bound === "compute" && isAttention(row));
  const memory = shareOfKernels((row) => row.bound === "memory");
  const launched = S.kernels.reduce((sum, row) => sum + row.count, 0);
  const launch = parseFloat(values.get("platform.gpu.kernel_launch") || "0") * (SCALES.time.find(([name]) => (values.get("platform.gpu.kernel_launch") || "").endsWith(` ${name}`)) || ["", 0])[1];
  const numbers = [
    ["platform.gpu.peak", products + attention], ["platform.gpu.gemm_efficiency", products], ["platform.gpu.attention_efficiency", attention],
    ["platform.gpu.hbm_bandwidth", memory], ["platform.gpu.memory_efficiency", memory], ["platform.gpu.kernel_launch", S.step_time_s > 0 ? (launched * launch) / S.step_time_s : 0],
    ["platform.gpu.compute_slowdown", S.compute_slowdown || 0],
  ];
  for (const name of DATA.tables.tiers.name) {
    numbers.push(...["bandwidth", "efficiency", "latency"].map((key) => [`platform.tiers.${name}.${key}`, shareOfTier(name)]));
  }
  return numbers.filter(([key, share]) => share >= 0.0005 && values.has(key)).sort((a, b) => b[1] - a[1]);
}

function gradeMark(grade) {
  const words = (GRADES.find(([name]) => name === grade) || ["", null, "its file does not say"])[2];
  return el("span", { className: `grade ${grade.replace(" ", "-")}`, title: words }, grade);
}

// Fill the section: the numbers that the step depends on most, then all numbers with a source.
function showAssumptions() {
  const sources = readSources();
  const values = readPlatform();
  if (sources.size === 0) {
    put("assumptions", el("p", { className: "soft" }, "The trace does not say where the platform's numbers come from."));
    return;
  }
  const row = (key, rests) => [key.replace("platform.", ""), values.get(key) || "", gradeMark(gradeOf(key, sources)), ...(rests === null ? [] : [rests]), sources.get(key) || "its file does not say"];
  const others = [["platform.gpu.hbm", "whether it fits"], ["platform.gpu.reserve", "whether it fits"], ["platform.price", "the cost"], ["platform.gpu.load_power", "the energy"], ["platform.node.power", "the energy"]];
  const rows = [...numbersThatMatter(values).map(([key, share]) => row(key, percent(share))), ...others.filter(([key]) => values.has(key)).map(([key, what]) => row(key, what))];
  const columns = [["number"], ["value", "text"], ["grade"], ["rests on it", "number"], ["where it comes from", "wide-text secondary"]];
  put(
    "assumptions",
    el("p", { className: "soft" }, "Numbers of the platform, by the share of the step that they decide directly: kernels that a rate bounds, waiting that a link causes. Bubbles follow from them."),
    table("numbers that matter, and how far to believe them", columns, rows, { tall: true }),
    el("p", { className: "soft" }, `Grades: ${GRADES.map(([name, , words]) => `${name}: ${words}`).join("; ")}.`),
    el("details", {}, el("summary", {}, `all ${sources.size} numbers with a source`), table("numbers of the platform", [["number"], ["value", "text"], ["grade"], ["where it comes from", "wide-text"]],
      [...sources.keys()].map((key) => row(key, null)), { tall: true })),
  );
}
