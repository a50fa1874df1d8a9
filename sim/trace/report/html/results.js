// Puts the page of a search, a sweep, a comparison, a validation or a replay together.

// Fill the section "Make it again": command, downloads and input files.
function showAgain() {
  put("again", el("p", {}, `Made by meshsim ${DATA.program_version}. `, DATA.inputs.length > 0 ? "With the files below, and those that they name, the same version gives the same figures:" : `The same version gives the same figures${DATA.page === "compare" ? " of the same traces" : ""}:`),
    el("pre", { id: "command", tabIndex: 0 }, DATA.command),
    el("div", { className: "tools downloads" }, button("results (JSON)", () => save(`${DATA.page}.json`, "application/json", JSON.stringify(DATA.result, null, 2))),
      ...DATA.inputs.filter(({ text }) => text !== null).map(({ name, text }) => button(name, () => save(name, "text/plain", text)))),
    ...DATA.inputs.map(inputDetails));
}

// Draw all plots, and again when the colours change.
function watchPlots() {
  const redraw = () => PLOTS.forEach((plot) => plot.draw());
  redraw(); // what was made before it stood on the page had no width
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  matchMedia("print").addEventListener("change", redraw);
}

// Fill the page by its kind.
function showResultsPage() {
  ({ search: showSearch, sweep: showSweep, compare: showCompare, validate: showValidate, replay: showReplay })[DATA.page]();
  section("again", showAgain);
  watchPlots();
  finish({ grids: GRIDS, plots: PLOTS });
}

showResultsPage();
