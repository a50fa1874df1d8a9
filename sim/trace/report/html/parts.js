// Parts that every page has: its data, sections, buttons, downloads and input files.

let DATA = JSON.parse(document.getElementById("data").textContent);

// Sections in their order: [id, title].
function addSections(sections) {
  for (const [id, title] of sections) {
    const node = el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title));
    document.getElementById("main").append(node);
  }
}

// Fill a section by show(). If it fails, as data of older or damaged traces may lack values, the section says so, and the others are still filled.
function section(id, show) {
  try {
    return show();
  } catch (error) {
    put(id, el("p", { className: "note lacking" }, `The data lack what belongs here (${error.message}).`));
    return null;
  }
}

// Let the browser save a text as a file.
function save(name, type, text) {
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// Rows of cells as CSV.
function csv(rows) {
  const cell = (value) => (/[",\n]/.test(String(value)) ? `"${String(value).replace(/"/g, '""')}"` : String(value));
  return rows.map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

// A button.
function button(text, action, options = {}) {
  const node = el("button", { type: "button", ...options }, text);
  node.addEventListener("click", action);
  return node;
}

// An input file of the page with its digest and text; a large file has only the digest.
function inputDetails({ name, text, sha256 }) {
  const shown = text === null ? el("p", { className: "soft" }, "Too large to stand here.") : el("pre", { tabIndex: 0 }, text);
  return el("details", {}, el("summary", {}, name), el("p", { className: "digest soft" }, `sha256 ${sha256}`), shown);
}

// End the page: bars follow its width and colours, and tests find it ready. parts: objects for tests.
function finish(parts) {
  fitBars();
  new ResizeObserver(fitBars).observe(document.getElementById("main"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", fitBars);
  matchMedia("print").addEventListener("change", fitBars);
  window.meshsimPage = { ...parts, readyMs: performance.now() };
  document.documentElement.dataset.ready = "yes";
}
