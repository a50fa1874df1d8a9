// Tables of results whose headings sort, and whose filter takes words and comparisons.

const GRIDS = {}; // by name, for tests
const GRID_ROWS = 200; // shown at once, until all are asked for

// A table of rows with filter, scopes, sorting, selection and download.
class Grid {
  // columns: { key, title, unit, value(row), path(row) of a figure or cell(row) of another node, isWide }; rows: objects with their place in the data as `at`.
  // options: caption, onSelect(row), text(row): what is searched beside the cells, scopes: [value, words, which(row)] of which one is chosen, the first at first.
  constructor(name, columns, rows, options = {}) {
    GRIDS[name] = this;
    Object.assign(this, { name, columns, rows, options, sorted: -1, isDown: false, most: GRID_ROWS, selected: null });
    this.search = el("input", { type: "search", id: `${name}-filter`, placeholder: options.example || "filter", "aria-label": `filter: ${options.caption || name}` });
    this.search.addEventListener("input", () => this.draw());
    const scopes = options.scopes || [["all", "", () => true]];
    this.inScope = scopes[0][2];
    const scope = scopes.length < 2 ? null : choice("show", `${name}-scope`, scopes.map(([value, words]) => [value, words]), scopes[0][0], (value) => {
      this.inScope = scopes.find((one) => one[0] === value)[2];
      this.draw();
    });
    this.count = el("span", { className: "soft", id: `${name}-count`, "aria-live": "polite" });
    this.body = el("tbody", {});
    this.heads = columns.map((column, i) => this.head(column, i));
    const frame = el("div", { className: "wide tall", tabIndex: 0 },
      el("table", { className: "full grid" }, options.caption ? el("caption", {}, options.caption) : null, el("thead", {}, el("tr", {}, ...this.heads)), this.body));
    frame.setAttribute("role", "region");
    frame.setAttribute("aria-label", options.caption || name);
    this.more = button("show all", () => {
      this.most = Infinity;
      this.draw();
    });
    this.node = el("div", {}, el("div", { className: "tools" }, ...(scope ? [scope] : []), this.search, this.count, button("CSV", () => save(`${name}.csv`, "text/csv", this.csv()), { title: "the rows that are shown" })), frame, this.more);
    this.texts = rows.map((row) => [...columns.map((column) => String(column.value(row) ?? "")), options.text ? options.text(row) : ""].join(" ").toLowerCase());
    this.draw();
  }

  // The heading of a column, which sorts by it.
  head(column, i) {
    const by = button(column.title, () => this.sortBy(i), { className: "sort" });
    return el("th", { scope: "col", className: this.classOf(column) }, by);
  }

  classOf(column) {
    return `${column.unit !== undefined ? "number" : ""} ${column.className || ""}`.trim();
  }

  // Sort by a column; by the same column again in reverse order.
  sortBy(i) {
    this.isDown = this.sorted === i && !this.isDown;
    this.sorted = i;
    this.draw();
  }

  // Rows that match, in their order; rows without a value come last.
  shown() {
    const tests = this.search.value.toLowerCase().split(/\s+/).filter((word) => word !== "").map((word) => this.testOf(word));
    const kept = this.rows.map((row, i) => i).filter((i) => this.inScope(this.rows[i]) && tests.every((test) => test(i)));
    if (this.sorted >= 0) {
      const { value } = this.columns[this.sorted];
      const sign = this.isDown ? -1 : 1;
      const isNone = (one) => one === null || one === undefined;
      const compare = (a, b) => (isNone(a) || isNone(b) ? isNone(a) - isNone(b) : sign * (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b));
      kept.sort((a, b) => compare(value(this.rows[a]), value(this.rows[b])) || a - b);
    }
    return kept;
  }

  // "step<1.5s", "mfu>=40%", "tp=8" compare a column; any other word has to stand in the row.
  testOf(word) {
    const found = word.match(/^([a-z_ ]+)(<=|>=|<|>|=)(-?[\d.]+)([a-z/%]*)$/);
    const column = found && this.columns.find(({ key }) => key.toLowerCase() === found[1]);
    const factor = column ? factorOf(found[4], column.unit) : null;
    if (factor === null) {
      return (i) => this.texts[i].includes(word);
    }
    const limit = Number(found[3]) * factor;
    const is = { "<": (a) => a < limit, ">": (a) => a > limit, "<=": (a) => a <= limit, ">=": (a) => a >= limit, "=": (a) => Math.abs(a - limit) <= 1e-9 * Math.abs(limit) }[found[2]];
    return (i) => {
      const value = column.value(this.rows[i]);
      return typeof value === "number" && is(value);
    };
  }

  // The content of a cell: a figure, another node or a text.
  cell(column, row) {
    if (column.path && column.value(row) === undefined) {
      return ""; // such a row has no such figure
    }
    return column.path ? figure(column.path(row), column.unit) : column.cell ? column.cell(row) : column.unit !== undefined ? format(column.value(row), column.unit) : column.value(row) ?? "";
  }

  // Show the rows that match again, with their number.
  draw() {
    const kept = this.shown();
    this.order = kept;
    this.body.replaceChildren(...kept.slice(0, this.most).map((i) => this.line(this.rows[i])));
    this.heads.forEach((head, i) => head.setAttribute("aria-sort", i !== this.sorted ? "none" : this.isDown ? "descending" : "ascending"));
    const all = this.rows.filter(this.inScope).length;
    this.count.textContent = kept.length === all ? `${kept.length.toLocaleString("en")} ${kept.length === 1 ? "row" : "rows"}` : `${kept.length.toLocaleString("en")} of ${all.toLocaleString("en")} rows`;
    this.more.hidden = kept.length <= this.most;
    this.more.textContent = `show all ${kept.length.toLocaleString("en")}`;
  }

  // The table row of a row; its first cell selects it.
  line(row) {
    const node = el("tr", { className: row === this.selected ? "selected" : "" });
    this.columns.forEach((column, i) => {
      let content = this.cell(column, row);
      if (i === 0 && this.options.onSelect) {
        content = button(content, () => this.select(row), { className: "link", "aria-pressed": String(row === this.selected) });
      }
      node.append(el(i === 0 ? "th" : "td", { className: this.classOf(column), ...(i === 0 ? { scope: "row" } : {}) }, content));
    });
    return node;
  }

  // The button of the row keeps the focus, though its line is a new one.
  select(row) {
    this.selected = row;
    this.draw();
    const line = this.order.slice(0, this.most).indexOf(this.rows.indexOf(row));
    if (line >= 0) {
      this.body.rows[line].querySelector("button").focus({ preventScroll: true });
    }
    this.options.onSelect(row);
  }

  // The shown rows as CSV, with the keys of the columns.
  csv() {
    return csv([this.columns.map(({ key }) => key), ...this.order.map((i) => this.columns.map((column) => column.value(this.rows[i]) ?? ""))]);
  }
}

// Factor from a unit that the user typed to the unit of a column; null where the column has no such unit.
function factorOf(unit, columnUnit) {
  if (columnUnit === undefined) {
    return null;
  }
  if (unit === "") {
    return 1;
  }
  if (unit === "%") {
    return columnUnit === "share" ? 0.01 : null;
  }
  const scale = (SCALES[columnUnit] || []).find(([name]) => name.toLowerCase() === unit);
  return scale ? scale[1] : null;
}

// A box of choices: options [value, words].
function choice(title, id, options, value, action) {
  const box = el("select", { id }, ...options.map(([name, words]) => el("option", { value: name, selected: name === value }, words)));
  box.addEventListener("change", () => action(box.value));
  return el("label", { className: "choice" }, title, box);
}
