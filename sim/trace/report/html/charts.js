// Words and colours of axes, categories and memory, and bars of shares.

const AXIS_WORDS = {
  tp: "tensor-parallel", cp: "context-parallel", ep: "expert-parallel", pp: "pipeline", dp: "data-parallel", other: "the whole job's",
};

// Categories of time: [key of time_share, colour, words, meaning].
const SHARES = [
  ["compute", "compute", "computation", "forward, backward, recomputation and loss"],
  ["optimizer", "optimizer", "optimizer", "clipping and update"],
  ["bubble_warmup", "bubble-warmup", "bubble, warm-up", "waiting for other pipeline ranks' passes, at first"],
  ["bubble_steady", "bubble-steady", "bubble, steady", "the same between the first backward and the last forward pass"],
  ["bubble_cooldown", "bubble-cooldown", "bubble, cool-down", "the same in the end"],
  ["imbalance", "imbalance", "imbalance", "waiting for another rank of the same stage"],
  ["exposed_tp", "tp", "exposed tp", "tensor-parallel communication that nothing hides"],
  ["exposed_cp", "cp", "exposed cp", "context-parallel communication that nothing hides"],
  ["exposed_ep", "ep", "exposed ep", "expert-parallel communication that nothing hides"],
  ["exposed_pp", "pp", "exposed pp", "messages between pipeline ranks that nothing hides"],
  ["exposed_dp", "dp", "exposed dp", "gradients and parameters among replicas, likewise"],
  ["other", "other", "other", "the gradient's norm, and kernels launched late"],
];

const MEMORY_PARTS = [
  ["parameters_B", "parameters", "parameters"], ["gradients_B", "gradients", "gradients"], ["optimizer_B", "optimizer-state", "optimizer state"],
  ["activations_B", "activations", "activations"], ["buffers_B", "buffers", "buffers"], ["other_B", "rest", "other"],
];

// A bar of parts: [share of the bar's length, colour, title, text]. A text stands in a part that is wide enough.
function bar(parts, options = {}) {
  const node = el("div", { className: "bar" + (options.thin ? " thin" : "") });
  node.setAttribute("role", "img");
  node.setAttribute("aria-label", parts.map((part) => part[2]).join(", "));
  for (const [share, name, title, text] of parts) {
    if (share > 0) {
      const piece = el("span", { title });
      piece.style.width = `${100 * share}%`;
      piece.style.background = `var(--${name})`;
      if (text && !options.thin) {
        piece.dataset.texts = JSON.stringify([text, text.replace(/^.* (?=[\d.]+ %$)/, ""), ""]);
      }
      node.append(piece);
    }
  }
  return node;
}

// Contrast of a colour to black, and to white. Source: WCAG 2.1, relative luminance and contrast ratio.
function contrasts(one) {
  const [r, g, b] = one.map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  const light = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return [(light + 0.05) / 0.05, 1.05 / (light + 0.05)];
}

// Write into the parts of all bars the longest of their texts that has room, in black or white.
function fitBars() {
  for (const piece of document.querySelectorAll("[data-texts]")) {
    const [black, white] = contrasts(getComputedStyle(piece).backgroundColor.match(/\d+/g).map(Number));
    piece.style.color = black > white ? "#000" : "#fff";
    for (const text of JSON.parse(piece.dataset.texts)) {
      piece.textContent = text;
      if (piece.scrollWidth <= piece.clientWidth) {
        break;
      }
    }
  }
}

// A tile: name, large value and further words.
function tile(name, value, more) {
  const { length } = value.textContent === undefined ? String(value) : value.textContent; // a tile is as wide as eight large letters
  const size = length > 11 ? " small" : length > 8 ? " middle" : "";
  return el("li", {}, el("div", { className: "name" }, name), el("div", { className: "value" + size }, value), el("div", { className: "more" }, ...more));
}

// A table of the gain of each what-if. rows: of `whatif`; key: their path in the page's data.
function whatifTable(rows, key) {
  const most = Math.max(...rows.map((row) => row.gain), 1e-9);
  return table("the step with one thing better", [["change"], ["step", "number"], ["saved", "number"], ["", "grow"], ["settings", "text secondary"]], rows.map((row, i) => [
    row.change, figure(`${key}/${i}/step_time_s`, "time"), figure(`${key}/${i}/gain`, "share"),
    bar([[Math.max(0, row.gain) / most, "compute", `${row.change}: ${percent(row.gain)}`]], { thin: true }),
    settingsOf(row),
  ]), { full: true });
}

// The settings of a row as options of a command line; long ones are folded.
function settingsOf(row) {
  const words = Object.entries(row.settings || {}).map(([key, value]) => `--set '${key}=${value}'`);
  const code = el("code", {}, words.join(" "));
  return words.join(" ").length <= 60 ? code : el("details", {}, el("summary", {}, words.length > 1 ? `${words.length} settings` : "a setting"), code);
}

// A legend of [colour, text].
function legend(entries) {
  return el("ul", { className: "legend" }, ...entries.map(([name, text]) => el("li", {}, swatch(name), text)));
}

// "#rrggbb" as [r, g, b].
function rgb(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

// A colour between a and b; share: of a.
function mix(a, b, share) {
  return a.map((x, i) => Math.round(x * share + b[i] * (1 - share)));
}

// A colour [r, g, b] for CSS.
function css(one) {
  return `rgb(${one[0]},${one[1]},${one[2]})`;
}

// Round distance of ticks, so that at most `most` fit a range.
function tick(range, most) {
  const least = range / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((digit) => digit * power).find((one) => one >= least * 0.9999);
}

// Bars below each other, each as long as its whole: rows of [name, whole, parts of it as shares, text].
function stacks(caption, rows, title = "step") {
  const most = Math.max(...rows.map((row) => row[1]), 1e-300);
  const used = SHARES.filter(([key]) => rows.some((row) => row[2][key] > 0));
  const lines = rows.map(([name, whole, shares, text]) => [name, text,
    bar(used.map(([key, paint, words]) => [((shares[key] || 0) * whole) / most, paint, `${words} ${percent(shares[key] || 0)}`, `${words} ${(100 * (shares[key] || 0)).toFixed(1)} %`]))]);
  return el("div", {}, legend(used.map(([, paint, words]) => [paint, words])), table(caption, [[""], [title, "number"], ["where its time goes", "bars"]], lines, { full: true }));
}

// Bars and tables of time and memory of several runs. sides: [short name, name, summary, path of the summary in the page's data].
function showSides(sides) {
  const most = Math.max(...sides.map(([, , of]) => of.memory.peak_B || 0));
  const parts = MEMORY_PARTS.filter(([key]) => sides.some(([, , of]) => of.memory[key] > 0));
  const times = stacks("bars as long as the steps", sides.map(([, name, of, path]) => [name, of.step_time_s, of.time_share, figure(`${path}/step_time_s`, "time")]));
  const used = SHARES.filter(([key]) => sides.some(([, , of]) => of.time_share[key] > 0));
  const apart = (one, other) => (Math.abs(one - other) < 1e-9 * (one + other) ? 0 : one - other); // less is rounding
  const time = ([, , of], key) => of.time_share[key] * of.step_time_s;
  const rows = used.map(([key, paint, words]) => [el("span", {}, swatch(paint), words), ...sides.map((side) => format(time(side, key), "time")), ...sides.map(([, , , path]) => figure(`${path}/time_share/${key}`, "share")),
    ...sides.slice(1).map((side) => format(apart(time(side, key), time(sides[0], key)), "time"))]);
  const shares = table("where the time of each goes", [["what"], ...sides.map(([side]) => [side, "number"]), ...sides.map(([side]) => [`share of ${side}`, "number secondary"]), ...sides.slice(1).map(([side]) => [`${side} - ${sides[0][0]}`, "number"])], rows);
  const memory = most > 0 ? el("div", {}, legend(parts.map(([, paint, words]) => [paint, words])), table("memory at the peak", [[""], ["peak", "number"], ["by class", "bars"]], sides.map(([, name, of, path]) => [name, figure(`${path}/memory/peak_B`, "bytes"),
    bar(parts.map(([key, paint, words]) => [of.memory[key] / most, paint, `${words} ${format(of.memory[key], "bytes")}`, words]))]), { full: true })) : "";
  return el("div", {}, times, shares, memory);
}
