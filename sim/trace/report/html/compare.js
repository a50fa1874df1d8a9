// The page of a comparison of two traces, or of two folders of them.

// Relative difference of a row in words.
function difference(row) {
  return row.relative === null || row.relative === undefined ? "" : `${row.relative > 0 ? "+" : ""}${digits(100 * row.relative, 3)} %`;
}

// A value of one side in words.
function sideText(value) {
  return value === null || value === undefined ? "-" : isNumber(value) ? (Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(7)))) : String(value);
}

// Columns of a grid of differences.  list: key of its rows in the result; only "differences" have relative sizes and guards.
function differenceColumns(hasTraces, list) {
  const of = (row) => `/result/${list}/${row.at}`;
  const side = (name) => ({ key: name, title: name, unit: "", value: (row) => (isNumber(row[name]) ? row[name] : null), cell: (row) => (isNumber(row[name]) ? el("span", { "data-key": `${of(row)}/${name}` }, sideText(row[name])) : el("span", { className: "side-text" }, sideText(row[name]))) });
  const relative = { key: "change", title: "change", unit: "share", value: (row) => (isNumber(row.relative) ? row.relative : null), cell: (row) => difference(row) };
  const size = { key: "size", title: "size", unit: "share", value: (row) => (isNumber(row.relative) ? Math.abs(row.relative) : null), cell: (row) => (isNumber(row.relative) ? `${digits(100 * Math.abs(row.relative), 3)} %` : "") };
  const guard = { key: "guard", title: "guard", value: (row) => (row.failed ? "broken" : row.guarded ? "kept" : "not guarded"), cell: (row) => (row.failed ? el("span", { className: "bad" }, "broken") : row.guarded ? "kept" : "") };
  const trace = hasTraces ? [{ key: "trace", title: "trace", value: (row) => row.trace }] : [];
  return [{ key: "quantity", title: "quantity", value: (row) => row.key }, ...trace, side("a"), side("b"), ...(list === "differences" ? [relative, size, guard] : [])];
}

// Add the grid of quantities that differ.
function showDifferences(result) {
  const rows = result.differences.map((row, i) => ({ ...row, at: i }));
  if (rows.length === 0) {
    put("differences", el("p", { className: "good" }, `Equal: ${result.compared.toLocaleString("en")} quantities compared.`));
    return;
  }
  put("differences", new Grid("differences", differenceColumns(Boolean(result.are_folders), "differences"), rows, { caption: "the step time first, then by size; headings sort", example: "memory   collectives   size>5%   broken" }).node);
}

// Add the grid of inputs that differ.
function showInputs(result) {
  const rows = result.inputs.map((row, i) => ({ ...row, at: i }));
  put("inputs", rows.length === 0 ? el("p", {}, "The inputs are the same.")
    : new Grid("inputs", differenceColumns(Boolean(result.are_folders), "inputs"), rows, { caption: "keys of workload and platform that differ, and so the likely causes", example: "mesh   platform.tiers" }).node);
}

// Add the grid of changed defaults, and the versions of the program where figures differ.
function showDefaults(result) {
  const rows = result.defaults.map((row, i) => ({ ...row, at: i }));
  const unknown = result.traces.filter((trace) => !trace.defaults_known).length;
  if (rows.length > 0) {
    put("inputs", new Grid("defaults", differenceColumns(Boolean(result.are_folders), "defaults"), rows, { caption: "defaults that changed: keys that nobody typed and whose value differs", example: "platform.library   model" }).node);
  }
  put("inputs", ...(unknown > 0 ? [el("p", { className: "soft" }, "Changed defaults are unknown where a trace holds no resolved inputs.")] : []));
  const versions = [...new Set(result.versions.map((row) => `a by meshsim ${row.a}, b by meshsim ${row.b}`))];
  put("inputs", ...versions.map((text) => el("p", {}, `Figures differ, and so do the versions: ${text}.`)));
}

// Bars and tables of time and memory of both sides of one pair of traces.  i: its index in result.traces.
function showPair(trace, i) {
  return showSides(["a", "b"].filter((side) => trace[side] && isNumber(trace[side].step_time_s))
    .map((side) => [side, `${side}: ${trace[side].workload || ""}`, trace[side], `/result/traces/${i}/${side}`]));
}

// Add the sides of the one pair; of folders a grid of all pairs, in which a pair can be selected.
function showTraces(result) {
  const rows = result.traces.map((row, i) => ({ ...row, at: i }));
  const holder = el("div", { id: "sides" });
  const show = (row) => {
    holder.replaceChildren(...(result.are_folders ? [el("h3", {}, row.trace)] : []), showPair(row, row.at));
    fitBars();
  };
  if (result.are_folders) {
    const of = (row) => `/result/traces/${row.at}`;
    const columns = [{ key: "trace", title: "trace", value: (row) => row.trace }, { key: "a", title: "step a", unit: "time", value: (row) => row.step_time_a_s, path: (row) => `${of(row)}/step_time_a_s` }, { key: "b", title: "step b", unit: "time", value: (row) => row.step_time_b_s, path: (row) => `${of(row)}/step_time_b_s` },
      { key: "change", title: "change", unit: "share", value: (row) => (isNumber(row.step_time_a_s) && isNumber(row.step_time_b_s) ? row.step_time_b_s / row.step_time_a_s - 1 : null), cell: (row) => (isNumber(row.step_time_a_s) && isNumber(row.step_time_b_s) ? percent(row.step_time_b_s / row.step_time_a_s - 1) : "") },
      { key: "in", title: "in", value: (row) => row.in }, { key: "guard", title: "guard", value: (row) => (row.guarded_ok ? "kept" : "broken") }];
    put("time", new Grid("traces", columns, rows, { caption: "traces by name; the name of one shows its bars below", example: "change>1%   broken", onSelect: show }).node);
  }
  put("time", holder);
  show(rows.find((row) => !row.equal) || rows[0]);
}

// Add title, verdict and tiles.
function showCompareHead(result) {
  const failed = result.differences.filter((row) => row.failed).length;
  const areOffers = !result.are_folders && result.traces[0].offers; // two platforms or numbers of GPUs, which no guard is about
  const words = areOffers ? "Two offers" : !result.guarded_ok ? "The guard is broken" : result.equal ? "Equal" : "Changed within the guard";
  put("head", el("h1", {}, DATA.title), el("p", { className: "soft" }, "b against a"),
    el("p", { className: "verdict" }, el("span", { className: areOffers ? "" : result.guarded_ok ? "good" : "bad" }, words), `: ${result.differences.length.toLocaleString("en")} of ${result.compared.toLocaleString("en")} quantities differ`, failed > 0 && !areOffers ? `, ${failed} more than the guard lets pass.` : "."));
  const first = result.traces[0];
  const change = first.step_time_b_s / first.step_time_a_s - 1;
  if (!result.are_folders && isNumber(first.step_time_a_s)) {
    put("head", el("ul", { className: "tiles" }, tile("step of a", figure("/result/traces/0/step_time_a_s", "time"), []), tile("step of b", figure("/result/traces/0/step_time_b_s", "time"), []),
      tile("change", (change > 0 ? "+" : "") + percent(change), [change > 0 ? "b is slower" : change < 0 ? "b is faster" : "as fast"]),
      tile("inputs that differ", String(result.inputs.length), [result.inputs.slice(0, 3).map((row) => row.key).join(", ")])));
  }
}

// Fill the page of a comparison.
function showCompare() {
  const { result } = DATA;
  addSections([["inputs", "What differs first: the inputs"], ["time", "Where the time goes"], ["differences", "What differs in the results"], ["again", "Make it again"]]);
  section("head", () => showCompareHead(result));
  section("inputs", () => {
    showDefaults(result);
    showInputs(result);
  });
  section("time", () => showTraces(result));
  section("differences", () => showDifferences(result));
}
