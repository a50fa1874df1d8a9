// The page of a replay of measured steps: who is slow, and what it costs.

const OF_PASS = { "forward-compute": ["F", "forward"], "backward-compute": ["B", "backward"], "input-gradient-compute": ["I", "input-grad"], "weight-gradient-compute": ["W", "weight-grad"], optimizer: ["O", "optimizer"] };

// Title, verdict and tiles.
function showReplayHead(result) {
  put("head", el("h1", {}, DATA.title), el("p", { className: "soft" }, `${result.steps} steps of ${result.operations} operations: dp ${result.dp}, pp ${result.pp}, ${result.num_microbatches} microbatches${result.schedule ? `, ${result.schedule}` : ""}`),
    ...result.in_words.map((sentence) => el("p", { className: "verdict" }, sentence)),
    el("ul", { className: "tiles" }, tile("measured step", figure("/result/step_time_s", "time"), []), tile("without launch delays (T)", figure("/result/T", "time"), []), tile("without stragglers (I)", figure("/result/I", "time"), []),
      tile("S = T / I", figure("/result/S", ""), []), tile("wasted on stragglers", figure("/result/wasted_share", "share"), [])));
}

// The heat map of workers: the lower S of their data-parallel rank and stage.
function showWorkers(result) {
  const stages = Object.keys(result.S_worker[0].stage);
  const points = result.S_worker.flatMap((row, dp) => stages.map((stage, x) => ({ x, y: result.S_worker.length - 1 - dp, value: row.stage[stage], words: `dp ${row.dp_rank}, stage ${stage}: S ${digits(row.stage[stage])}` })));
  const plot = new Plot("workers-plot", { label: "slow-down by worker", fields: true, unit: "", points, x: { title: "stage", names: stages }, y: { title: "dp rank", names: result.S_worker.map((row) => String(row.dp_rank)).reverse() },
    height: 90 + 34 * Math.min(24, result.S_worker.length) });
  put("workers", el("p", { className: "soft" }, "Each field: the step with only the operations of the worker's rank, or of its stage, as measured and all others ideal, over the ideal step; the lower of both."), plot.node);
}

// The longest step of the worst data-parallel rank: above as measured, below ideal.
function showReplayTimeline(result) {
  const { timeline } = result;
  const stages = result.pp;
  const end = Math.max(...timeline.measured.map((row) => row.end_ps));
  const [left, width, height, gap] = [64, 1000, 22, 18];
  const node = svg("svg", { viewBox: `0 0 ${left + width + 6} ${2 * stages * height + gap + 30}`, role: "img", "aria-label": `step ${timeline.step} of dp rank ${timeline.dp_rank}, measured above ideal`, class: "replay" });
  ["measured", "ideal"].forEach((part, i) => {
    for (let stage = 0; stage < stages; stage++) {
      const y = i * (stages * height + gap) + stage * height;
      node.append(svg("text", { x: left - 6, y: y + 15, "text-anchor": "end" }, `${part === "ideal" ? "ideal " : ""}${stage}`), svg("rect", { x: left, y: y + 1, width, height: height - 2, fill: "var(--panel)" }));
    }
    for (const row of timeline[part]) {
      const y = i * (stages * height + gap) + row.stage * height;
      const [x, w] = [left + (width * row.start_ps) / end, (width * (row.end_ps - row.start_ps)) / end];
      const [letter, paint] = OF_PASS[row.kind] || ["", /send|recv/.test(row.kind) ? "" : "dp"];
      if (paint === "" || w <= 0) {
        continue;
      }
      const words = `${row.kind}${row.mb >= 0 ? ` of microbatch ${row.mb}` : ""}, stage ${row.stage}: ${format(row.start_ps * 1e-12, "time")} to ${format(row.end_ps * 1e-12, "time")}`;
      node.append(svg("rect", { x, y: y + 1, width: Math.max(0.5, w - 0.5), height: height - 2, fill: `var(--${paint})` }, svg("title", {}, words)));
      if (w > 18 && row.mb >= 0) {
        node.append(svg("text", { x: x + w / 2, y: y + 15, "text-anchor": "middle", fill: "#fff" }, `${letter}${row.mb}`));
      }
    }
  });
  for (let i = 0; i <= 5; i++) {
    node.append(svg("text", { x: left + (width * i) / 5, y: 2 * stages * height + gap + 16, "text-anchor": i === 5 ? "end" : "middle" }, format((end * 1e-12 * i) / 5, "time")));
  }
  put("timeline", el("p", { className: "soft" }, `Step ${timeline.step}, the longest, on data-parallel rank ${timeline.dp_rank}, without launch delays: each stage as measured, and below with ideal times. Point at an operation to read its times.`), node);
}

// A table of the slow-downs by one part.
function partTable(result, key, title) {
  const names = Object.keys(result[key]);
  const most = Math.max(...names.map((name) => result[key][name] - 1), 1e-9);
  return table(`only one ${title} as measured, the others ideal`, [[title], ["S", "number"], ["", "grow secondary"]], names.map((name) => {
    const excess = result[key][name] - 1;
    return [name, figure(`/result/${key}/${name}`, ""), bar([[Math.max(0, excess) / most, "tp", `${title} ${name}: ${percent(excess)} above the ideal step`]], { thin: true })];
  }), { full: true });
}

// Fill the page of a replay.
function showReplay() {
  const { result } = DATA;
  const rows = result.rows.map((row, i) => ({ ...row, at: i }));
  const column = (key, title, unit) => ({ key, title, unit, value: (row) => row[key], path: (row) => `/result/rows/${row.at}/${key}` });
  addSections([["workers", "Workers"], ["timeline", "Measured above ideal"], ["whatif", "What if"], ["parts", "By stage, rank and kind"], ["steps", "Steps"], ["again", "Make it again"]]);
  section("head", () => showReplayHead(result));
  section("workers", () => showWorkers(result));
  section("timeline", () => showReplayTimeline(result));
  section("whatif", () => put("whatif", table("each change alone, without launch delays", [["what if", "text"], ["step", "number"], ["saves", "number"], ["S", "number"]],
    result.whatif.map((row, i) => [row.change, figure(`/result/whatif/${i}/step_time_s`, "time"), figure(`/result/whatif/${i}/gain`, "share"), figure(`/result/whatif/${i}/S`, "")]))));
  section("parts", () => put("parts", partTable(result, "S_stage", "stage"), partTable(result, "S_dp_rank", "data-parallel rank"), partTable(result, "S_kind", "kind of operation")));
  section("steps", () => put("steps", new Grid("steps", [column("step", "step", "count"), column("step_t_base", "measured", "time"), column("step_t_nodelay", "no delays", "time"), column("step_t_noblk", "ideal", "time"), column("S_step", "S", "")],
    rows, { caption: "all steps; headings sort", example: "S>1.2" }).node));
}
