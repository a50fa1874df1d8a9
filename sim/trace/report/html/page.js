// Puts the page of a trace together: its downloads, the section of the timeline with its keys and mouse, and the order of all sections.

// The table /ranks of the trace as CSV.
function ranksCsv() {
  const names = Object.keys(DATA.tables.ranks);
  return csv([names, ...DATA.tables.ranks.rank.map((rank, i) => names.map((name) => DATA.tables.ranks[name][i]))]);
}

// The items of the timeline as CSV.
function timelineCsv({ items, classes }) {
  const rows = [["row", "rank", "kind", "microbatch", "chunk", "start_s", "length_s", "slack_s"]];
  for (let i = 0; i < items.count; i++) {
    const name = items.code[i] < DATA.idle_code ? DATA.kinds[items.code[i]] : DATA.categories[items.code[i] - DATA.idle_code] || CLASSES[classes[i]][2];
    const row = DATA.rows[items.row[i]];
    rows.push([row.label, row.rank, name, items.mb[i], items.chunk[i], items.start[i] / PS, (items.end[i] - items.start[i]) / PS, items.slack[i] < 0 ? "" : items.slack[i] / PS]);
  }
  return csv(rows);
}

// The items of the timeline in Chrome's trace event format, which ui.perfetto.dev opens.
function perfetto({ items, classes }) {
  const events = DATA.rows.map((row, r) => ({ ph: "M", pid: r, tid: 0, name: "process_name", args: { name: `${row.label}, rank ${row.rank}` } }));
  for (let i = 0; i < items.count; i++) {
    const isPass = items.code[i] < DATA.idle_code;
    const lane = items.marks[i] & PART ? 2 : items.marks[i] & LOWER ? 1 : 0;
    events.push({
      ph: "X", pid: items.row[i], tid: lane, ts: items.start[i] / 1e6, dur: (items.end[i] - items.start[i]) / 1e6,
      name: isPass ? CLASSES[classes[i]][1] : DATA.categories[items.code[i] - DATA.idle_code] || "idle", cat: isPass ? DATA.kinds[items.code[i]] : "idle",
      args: isPass ? { mb: items.mb[i], chunk: items.chunk[i], slack_us: items.slack[i] / 1e6 } : {},
    });
  }
  return JSON.stringify({ displayTimeUnit: "ms", otherData: { program: "meshsim", version: DATA.program_version, workload: S.workload }, traceEvents: events });
}

// Fill the section "Make it again": commands, downloads and input files.
function showAgain(timeline) {
  const files = DATA.inputs.filter(({ name }) => name !== "sources").map(({ name, text, sha256 }) => ({ name: name === "schedule" || name === "placement" ? `${name}.csv` : `${name}.yaml`, text, sha256 }));
  const stem = DATA.trace.replace(/\.(h5|hdf5|hdf)$/, "");
  const level = DATA.level === "full" ? "" : DATA.level === "ranks" ? " --trace ranks=LIST" : ` --trace ${DATA.level}`;
  const command = `meshsim run workload.yaml --platform platform.yaml${level}${DATA.tables.whatif ? " --whatif" : ""} -o ${DATA.trace}\nmeshsim report ${DATA.trace} -o ${stem}.html`;
  put(
    "again",
    el("p", {}, `Made by meshsim ${DATA.program_version} from the trace ${DATA.trace} of ${DATA.events.toLocaleString("en")} operations. With the input below, each file under its name, the same version gives the same figures:`),
    el("pre", {}, command),
    el("div", { className: "tools downloads" },
      button("summary (JSON)", () => save(`${stem}.json`, "application/json", JSON.stringify(DATA.summary, null, 2))),
      button("ranks (CSV)", () => save(`${stem}-ranks.csv`, "text/csv", ranksCsv()), { disabled: !DATA.tables.ranks }),
      timeline ? button("timeline (CSV)", () => save(`${stem}-timeline.csv`, "text/csv", timelineCsv(timeline))) : null,
      timeline ? button("trace for Perfetto (JSON)", () => save(`${stem}-perfetto.json`, "application/json", perfetto(timeline))) : null,
      ...files.map(({ name, text }) => button(name, () => save(name, "text/plain", text)))),
    ...files.map(inputDetails),
  );
}

// ---- the timeline's section ----

const KEYS = [
  [["+", "-"], "zoom in and out"], [["left", "right"], "move in time"], [["up", "down"], "another row"], [["[", "]"], "the pass before and behind on the row"],
  [["/"], "search"], [["n", "p"], "the next and the last one that was found"], [["c"], "the critical path"], [["0"], "the whole run"], [["Esc"], "end the search, select nothing"],
];

function showKeys() {
  put("keys", el("p", { className: "soft" }, "When the timeline has the focus (Tab leads to it). Searches also start anywhere on the page with ", el("kbd", {}, "/"), "."),
    el("dl", { className: "keys" }, ...KEYS.flatMap(([keys, words]) => [el("dt", {}, ...keys.flatMap((key, i) => [i > 0 ? " " : "", el("kbd", {}, key)])), el("dd", {}, words)])),
    el("p", { className: "soft" }, "With a mouse: drag to move, drag with Shift held to zoom into what was drawn over, Ctrl and the wheel to zoom, click to select."));
}

// The lanes below the timeline, those without data left out.
function lanesOf(timeline) {
  const memory = readMemory(DATA.memory);
  const sent = readSent(DATA.sent);
  const lanes = memory.levels.some((level) => level > 0) ? [new MemoryLane(memory, S.memory.capacity_B)] : [];
  return sent.length > 0 ? [...lanes, new SentLane(sent, timeline.end)] : lanes;
}

// A check box for each class of items that the timelines have; items of classes that are switched off are paler.
function classChoices(timelines) {
  const used = CLASSES.map((one, kind) => [one, kind]).filter(([, kind]) => timelines.some(({ classes }) => classes.includes(kind)));
  return el("div", { className: "tools choices", role: "group", "aria-label": "kinds that are shown in full colour" }, ...used.map(([[name, letter, words], kind]) => {
    const box = el("input", { type: "checkbox", checked: true });
    box.addEventListener("change", () => {
      for (const timeline of timelines) {
        timeline.isOn[kind] = box.checked;
        timeline.draw();
      }
    });
    const mark = swatch(name === "wait-foreign" ? "wait" : name);
    if (name === "wait-foreign") {
      mark.style.opacity = "0.45";
    }
    return el("label", { className: "choice" }, box, mark, letter ? `${letter} ${words}` : words);
  }));
}

// Add a timeline to its section. place: at the end of the ids of its elements. Returns the timeline, whose `choices` the caller fills; null for a
// trace without operations.
function showTimeline(place = "") {
  if (DATA.rows.length === 0 || !DATA.items) {
    put("timeline", el("p", { className: "soft" }, "The trace was written with --trace summary and holds no operations."));
    return null;
  }
  const canvas = el("canvas", { id: `canvas${place}`, tabIndex: 0, role: "application", "aria-describedby": `details${place} keys-title`,
    "aria-label": `timeline of ${DATA.rows.length} rows; keys are listed at the end of the page` });
  const tip = el("div", { className: "tip", hidden: true });
  const details = el("p", { className: "details", id: `details${place}`, "aria-live": "polite" }, "Select an item to read what it is and what it waits for.");
  const search = el("input", { type: "search", id: `search${place}`, placeholder: "mb 12   pp 3   backward   bubble   >10ms   critical", "aria-label": "search the timeline" });
  const count = el("span", { className: "soft", id: `found${place}`, "aria-live": "polite" });
  const chart = el("div", { className: "chart" }, canvas, tip);
  const timeline = new Timeline(canvas, readItems(DATA.items), readPath(DATA.path));
  timeline.lanes = lanesOf(timeline);
  timeline.choices = el("div");
  const controls = new Controls(timeline, { tip, details, search, count });
  put("timeline",
    el("p", { className: "soft" }, rowsNote()),
    el("div", { className: "tools" }, search, count, button("next", () => controls.next(1)), button("+", () => controls.act(() => timeline.zoom(2)), { title: "zoom in" }),
      button("-", () => controls.act(() => timeline.zoom(0.5)), { title: "zoom out" }), button("whole run", () => controls.act(() => timeline.show(0, timeline.most))), controls.pathButton),
    timeline.choices, chart, details);
  return timeline;
}

// Words about which rows and which times the timeline shows.
function rowsNote() {
  const simulated = DATA.tables.ranks.rank.length;
  const stages = new Set(DATA.rows.map((row) => row.pp)).size;
  const rows = DATA.rows.length === simulated ? "A row for each simulated rank."
    : stages === DATA.rows.length && DATA.level !== "ranks" ? "A row for each pipeline rank: the simulated rank of it that stands for most others."
      : `${DATA.rows.length} of ${simulated} simulated ranks have a row.`;
  const parts = DATA.items.has_parts ? "" : " Waiting inside passes is counted in them, not drawn: there is too much of it.";
  const level = DATA.level === "passes" || S.granularity === "pass" ? " The trace holds whole passes: communication inside them has no events." : "";
  return `${rows} Where passes are narrower than pixels, colours are as high as their share of the time.${parts}${level}`;
}

// ---- keys and mouse ----

// Keys, mouse and search of the timeline.
class Controls {
  constructor(timeline, parts) {
    this.timeline = timeline;
    Object.assign(this, parts);
    this.drag = null;
    this.pathButton = button("critical path", () => this.togglePath(), { "aria-pressed": "false" });
    const { canvas } = timeline;
    canvas.addEventListener("keydown", (event) => this.onKey(event));
    canvas.addEventListener("pointerdown", (event) => this.onDown(event));
    canvas.addEventListener("pointermove", (event) => this.onMove(event));
    canvas.addEventListener("pointerup", (event) => this.onUp(event));
    canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
    canvas.addEventListener("dblclick", (event) => this.act(() => timeline.zoom(4, timeline.timeAt(this.place(event)[0]))));
    canvas.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    this.search.addEventListener("input", () => this.onSearch());
    this.search.addEventListener("keydown", (event) => this.onSearchKey(event));
    document.addEventListener("keydown", (event) => {
      const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
      if (event.key === "/" && !isTyping) {
        event.preventDefault();
        this.search.focus();
      }
    });
  }

  // Position of a mouse event in the canvas [pixels].
  place(event) {
    const box = this.timeline.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  // Do something to the timeline, then describe the selected item.
  act(action) {
    action();
    this.tell();
  }

  // Describe the selected item below the timeline.
  tell() {
    const { timeline } = this;
    this.details.textContent = timeline.item >= 0 ? timeline.describe(timeline.item) : "Select an item to read what it is and what it waits for.";
  }

  next(by) {
    this.act(() => this.timeline.next(by));
  }

  togglePath() {
    this.timeline.hasPath = !this.timeline.hasPath;
    this.pathButton.setAttribute("aria-pressed", String(this.timeline.hasPath));
    this.timeline.draw();
  }

  // Keys while the timeline has the focus.
  onKey(event) {
    const { timeline } = this;
    const rows = timeline.rows.length;
    const actions = {
      "+": () => timeline.zoom(2), "=": () => timeline.zoom(2), "-": () => timeline.zoom(0.5), "0": () => timeline.show(0, timeline.most), Home: () => timeline.show(0, timeline.most),
      ArrowLeft: () => timeline.pan(-0.2), ArrowRight: () => timeline.pan(0.2),
      ArrowUp: () => this.toRow(Math.max(0, timeline.row - 1)), ArrowDown: () => this.toRow(Math.min(rows - 1, timeline.row + 1)),
      "[": () => timeline.step(-1), "]": () => timeline.step(1), n: () => timeline.next(1), p: () => timeline.next(-1), c: () => this.togglePath(),
      Escape: () => this.clear(),
    };
    if (actions[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      this.act(actions[event.key]);
    }
  }

  // Select a row, and no item.
  toRow(row) {
    this.timeline.row = row;
    this.timeline.item = -1;
    this.timeline.draw();
  }

  // End the search and select nothing.
  clear() {
    this.search.value = "";
    this.timeline.item = -1;
    this.onSearch();
  }

  // Search again, and show the number of items that were found.
  onSearch() {
    this.timeline.search(this.search.value);
    const { matches, found } = this.timeline;
    this.count.textContent = matches === null ? "" : found.length === 1 ? "1 item" : `${found.length.toLocaleString("en")} items`;
  }

  // Keys in the search field: Enter goes to the next item that was found, Escape ends the search.
  onSearchKey(event) {
    if (event.key === "Enter") {
      this.next(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      this.clear();
      this.timeline.canvas.focus();
    }
  }

  // The wheel zooms with Ctrl, and moves in time when it scrolls sideways.
  onWheel(event) {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.timeline.zoom(1.2 ** (-event.deltaY / 60), this.timeline.timeAt(this.place(event)[0]));
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.timeline.pan(event.deltaX / this.timeline.plot);
    }
  }

  // Begin to drag.
  onDown(event) {
    if (event.button === 0) {
      this.drag = { x: this.place(event)[0], from: this.timeline.view.from, isZoom: event.shiftKey, hasMoved: false };
      this.timeline.canvas.setPointerCapture(event.pointerId);
    }
  }

  // While dragging, move the view or draw the range that is to be zoomed into; else describe the item below the mouse.
  onMove(event) {
    const [x, y] = this.place(event);
    const { timeline, drag } = this;
    if (drag === null) {
      this.hover(x, y);
      return;
    }
    drag.hasMoved = drag.hasMoved || Math.abs(x - drag.x) > 3;
    const length = timeline.view.to - timeline.view.from;
    if (drag.isZoom && drag.hasMoved) {
      timeline.draw();
      const pen = timeline.canvas.getContext("2d");
      pen.fillStyle = "#0072b240";
      pen.fillRect(Math.min(x, drag.x), timeline.top, Math.abs(x - drag.x), timeline.height - timeline.top);
    } else if (drag.hasMoved) {
      const from = drag.from - ((x - drag.x) / timeline.plot) * length;
      timeline.show(from, from + length);
    }
  }

  // End dragging: zoom into the range, or select the item of a click.
  onUp(event) {
    const [x, y] = this.place(event);
    const { timeline, drag } = this;
    this.drag = null;
    if (drag === null) {
      return;
    }
    if (drag.isZoom && drag.hasMoved) {
      timeline.show(timeline.timeAt(Math.min(x, drag.x)), timeline.timeAt(Math.max(x, drag.x)));
    } else if (!drag.hasMoved) {
      const row = Math.floor((y - timeline.top) / timeline.rowHeight);
      const i = timeline.itemAt(x, y);
      if (row >= 0 && row < timeline.rows.length) {
        this.act(() => (i >= 0 ? timeline.select(i, false) : this.toRow(row)));
      }
    }
  }

  // Show a tooltip for the item or lane at a position.
  hover(x, y) {
    const { timeline } = this;
    const i = timeline.itemAt(x, y);
    const lane = timeline.lanes[Math.floor((y - timeline.laneTop) / (timeline.laneHeight + 22))];
    const text = i >= 0 ? timeline.describe(i) : y > timeline.laneTop && lane ? lane.describe(timeline, timeline.timeAt(x)) : "";
    this.tip.hidden = text === "" || x < timeline.left;
    this.tip.textContent = text;
    this.tip.style.left = `${Math.max(0, Math.min(x + 14, timeline.width - 300))}px`;
    this.tip.style.top = `${y + 18}px`;
  }
}

// ---- the whole ----

// Draw the timeline, and again when its width or its colours change.
function watch(timeline) {
  const refresh = () => {
    timeline.readColours();
    timeline.draw();
  };
  timeline.draw();
  new ResizeObserver(() => timeline.draw()).observe(timeline.canvas.parentElement);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", refresh);
  matchMedia("print").addEventListener("change", refresh);
  window.addEventListener("beforeprint", refresh);
}

// Fill the page of the longest step of a replay ('replay -o'), which has neither costs nor a network.
function showReplayedStep() {
  const { summary } = DATA;
  const stages = Object.keys(summary.S_worker[0].stage);
  addSections([["workers", "Workers"], ["timeline", "Timeline"], ["keys", "Keys of the timeline"]]);
  put("head", el("h1", {}, summary.workload), ...summary.in_words.map((sentence) => el("p", { className: "verdict" }, sentence)));
  put("workers", table("S of each worker: the lower of its stage's and its data-parallel rank's", [["dp rank"], ...stages.map((stage) => [`stage ${stage}`, "number"])],
    summary.S_worker.map((row, i) => [String(row.dp_rank), ...stages.map((stage) => figure(`/summary/S_worker/${i}/stage/${stage}`, ""))])));
  const timeline = showTimeline();
  showKeys();
  watch(timeline);
  finish({ timeline });
}

// Fill the page of a trace.
function showPage() {
  if (DATA.summary.S_worker) {
    showReplayedStep();
    return;
  }
  addSections([["time", "Where the time goes"], ["timeline", "Timeline"], ["stages", "By pipeline rank"], ["path", "Critical path"], ["communication", "Communication"],
    ["whatif", "What one change would buy"], ["kernels", "Kernels"], ["assumptions", "Assumptions"], ["again", "Make it again"], ["keys", "Keys of the timeline"]]);
  section("head", showHead);
  section("time", showTime);
  const timeline = section("timeline", showTimeline);
  section("stages", () => showStages(timeline));
  section("path", () => showPath(timeline));
  section("communication", showCommunication);
  section("whatif", showWhatif);
  section("kernels", showKernels);
  section("assumptions", showAssumptions);
  section("again", () => showAgain(timeline));
  if (timeline) {
    timeline.choices.append(classChoices([timeline]));
    showKeys();
    watch(timeline);
  } else {
    drop("keys");
  }
  finish({ timeline });
}

(DATA.traces ? showTraces : showPage)();
