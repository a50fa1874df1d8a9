// The page of a validation: predicted against measured.

// A share in percent with its sign.
function signed(share) {
  return `${share > 0 ? "+" : ""}${(100 * share).toFixed(1)} %`;
}

// A table of errors by group.  key: of the groups in the result; null if there are none.
function groupTable(caption, key, groups) {
  const names = Object.keys(groups || {});
  if (names.length === 0) {
    return null;
  }
  const worst = Math.max(...names.map((name) => groups[name].mean_abs_error));
  const of = (name, what) => `/result/${key}/${name}/${what}`;
  return table(caption, [["group"], ["rows", "number"], ["mean error", "number"], ["", "grow secondary"], ["bias", "number"], ["worst", "number"], ["which", "secondary"]], names.map((name) => {
    const group = groups[name];
    return [name, figure(of(name, "n"), "count"), figure(of(name, "mean_abs_error"), "share"), bar([[group.mean_abs_error / worst, group.bias < 0 ? "pp" : "tp", `${name} ${percent(group.mean_abs_error)}`]], { thin: true }),
      figure(of(name, "bias"), "share"), figure(of(name, "worst_abs_error"), "share"), group.worst || ""];
  }), { full: true });
}

// Fill the section with the errors by group.
function showGroups(result) {
  put("groups", el("p", { className: "soft" }, "error: predicted / measured - 1; mean of its size, bias: mean with its sign. Bars: blue where predictions are too short, orange where too long."));
  for (const node of [groupTable("step time by group", "groups", result.groups), groupTable("outside the score", "apart", result.apart), groupTable("memory by group", "memory_groups", result.memory_groups), groupTable("collectives by size", "collective_sizes", result.collective_sizes)]) {
    if (node) {
      put("groups", node);
    }
  }
}

// Fill the section with predicted over measured step times.
function showScatter(result, rows) {
  const groups = Object.keys(result.groups);
  const points = rows.filter((row) => isNumber(row.error)).map((row) => ({ x: row.measured_s, y: row.predicted_s, series: Math.max(0, groups.indexOf(row.group)), row,
    words: `${row.id} (${row.group}): predicted ${format(row.predicted_s, "time")}, measured ${format(row.measured_s, "time")}, ${signed(row.error)}` }));
  const plot = new Plot("validate-plot", { label: "predicted against measured step times", points, x: { title: "measured step", unit: "time", isLog: true }, y: { title: "predicted step", unit: "time", isLog: true },
    bands: [[1, "identity"], [1.1, "band"], [1 / 1.1, "band"]], height: 520 });
  put("scatter", el("p", { className: "soft" }, "Line: predicted as measured; broken lines: 10 % beside it."), seriesLegend(groups), plot.node);
}

// Columns of a grid of predicted and measured times.  list: key of the rows in the result.
function errorColumns(list, hasGroup) {
  const of = (row) => `/result/${list}/${row.at}`;
  return [
    { key: "id", title: "case", value: (row) => row.id }, ...(hasGroup ? [{ key: "group", title: "group", value: (row) => row.group }] : []),
    { key: "predicted", title: "predicted", unit: "time", value: (row) => row.predicted_s, path: (row) => `${of(row)}/predicted_s` },
    { key: "measured", title: "measured", unit: "time", value: (row) => row.measured_s, path: (row) => `${of(row)}/measured_s` },
    { key: "error", title: "error", unit: "share", value: (row) => row.error, path: (row) => `${of(row)}/error` },
    { key: "size", title: "its size", unit: "share", value: (row) => (isNumber(row.error) ? Math.abs(row.error) : null) },
  ];
}

// Fill the sections with the grid of all rows and the bars of the largest errors.
function showRows(result, rows) {
  const of = (row) => `/result/rows/${row.at}`;
  const marks = (row) => [row.fits ? "" : "does not fit as simulated", row.suspect ? "source contradicts itself" : "", row.recompute_stated ? "" : "recomputation not stated", row.unseen ? "unseen" : "fitted"].filter((word) => word).join(", ");
  const columns = [...errorColumns("rows", true),
    { key: "mfu", title: "MFU", unit: "share", value: (row) => row.mfu, path: (row) => `${of(row)}/mfu` }, { key: "framework", title: "framework", value: (row) => row.framework, className: "secondary" },
    { key: "platform", title: "platform", value: (row) => row.platform, className: "secondary" }, { key: "remarks", title: "remarks", value: marks }];
  put("rows", new Grid("rows", columns, rows, { caption: "all that count; headings sort", example: "size>10%   gpt   unseen" }).node);
  const worst = rows.filter((row) => isNumber(row.error)).sort((a, b) => Math.abs(b.error) - Math.abs(a.error)).slice(0, 10);
  put("worst", stacks("the ten largest errors, and where their predicted time goes; bars as long as predicted is to measured", worst.map((row) => [row.id, 1 + row.error, row.time_share, figure(`${of(row)}/error`, "share")]), "error"));
}

// Fill the section with grids of the comparisons that are not step times of the score.
function showBeside(result) {
  const lists = [["apart_rows", "step times outside the score"], ["layers", "layers"], ["phases", "phases of steps"], ["collectives", "collectives"], ["memory", "memory"]].filter(([key]) => (result[key] || []).length > 0);
  if (lists.length === 0) {
    drop("beside");
    return;
  }
  for (const [key, caption] of lists) {
    const rows = result[key].map((row, i) => ({ ...row, at: i }));
    const names = Object.keys(rows[0]).filter((name) => name !== "at" && typeof rows[0][name] !== "object");
    const unitOf = (name) => (/_s$/.test(name) ? "time" : /_Bps$/.test(name) ? "rate" : /_B$/.test(name) ? "bytes" : /error|share|mfu|fraction/.test(name) ? "share" : "count");
    const columns = names.map((name) => ({ key: name, title: name.replace(/_(s|B|Bps)$/, "").replace(/_/g, " "), value: (row) => (typeof row[name] === "boolean" ? (row[name] ? "yes" : "no") : row[name]),
      ...(isNumber(rows.find((row) => row[name] !== null)?.[name]) ? { unit: unitOf(name), path: (row) => `/result/${key}/${row.at}/${name}` } : {}) }));
    put("beside", el("h3", {}, caption), new Grid(key.replace("_", "-"), columns, rows, { caption: `${caption}: predicted against measured` }).node);
  }
}

// Fill the section with the gain of each mechanism.
function showAblation(result) {
  if (!result.ablation) {
    drop("ablation");
    return;
  }
  const of = (i, key) => `/result/ablation/${i}/${key}`;
  put("ablation", table("by how much the mean error grows without each; below 0 it costs", [["mechanism"], ["rows that move", "number"], ["mean of groups", "number"], ["gain", "number"], ["on unseen rows", "number"]],
    result.ablation.map((row, i) => [row.mechanism, figure(of(i, "moved"), "count"), figure(of(i, "mean_of_groups"), "share"), figure(of(i, "gain"), "share"), figure(of(i, "unseen_gain"), "share")])));
}

// Fill the section with the cases that were skipped.
function showSkipped(result) {
  const rows = [...result.skipped, ...result.skipped_apart];
  if (rows.length === 0) {
    drop("skipped");
    return;
  }
  put("skipped", table("cases that no rule makes a job of", [["case"], ["reason", "text"]], rows.map((row) => [row.id, row.reason]), { tall: true, full: true }));
}

// Add title, verdict and tiles.
function showValidateHead(result, rows) {
  const scored = rows.filter((row) => isNumber(row.error));
  const near = scored.filter((row) => Math.abs(row.error) <= 0.1).length;
  put("head", el("h1", {}, DATA.title), el("p", { className: "soft" }, "predicted against measured, with one set of parameters and nothing of it per run"));
  if (scored.length === 0) {
    put("head", el("p", { className: "verdict" }, "No step time among the cases: the tables below hold what there is."));
    return;
  }
  put("head", el("p", { className: "verdict" }, `${near} of ${scored.length} step times are within 10 % of the measured ones.`),
    el("ul", { className: "tiles" }, tile("mean of the groups' mean errors", figure("/result/mean_of_groups", "share"), []), tile("step times", String(scored.length), [`in ${Object.keys(result.groups).length} ${Object.keys(result.groups).length === 1 ? "group" : "groups"}`]),
      isNumber(result.mean_of_groups_recompute_stated) ? tile("where recomputation is stated", figure("/result/mean_of_groups_recompute_stated", "share"), []) : "", tile("skipped", String(result.skipped.length), [])));
}

// Fill the page of a validation.
function showValidate() {
  const { result } = DATA;
  const rows = result.rows.map((row, i) => ({ ...row, at: i }));
  addSections([["scatter", "Predicted against measured"], ["groups", "Groups"], ["worst", "The largest errors"], ["rows", "Rows"], ["beside", "Beside the score"], ["ablation", "What each mechanism buys"], ["skipped", "Skipped"], ["again", "Make it again"]]);
  section("head", () => showValidateHead(result, rows));
  if (rows.some((row) => isNumber(row.error))) {
    section("scatter", () => showScatter(result, rows));
    section("rows", () => showRows(result, rows));
  } else {
    ["scatter", "rows", "worst"].forEach(drop);
  }
  section("groups", () => showGroups(result));
  section("beside", () => showBeside(result));
  section("ablation", () => showAblation(result));
  section("skipped", () => showSkipped(result));
}
