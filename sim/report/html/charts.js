// Words and colours of what is shown, and bars.

const AXIS_WORDS = {
  tp: "tensor-parallel", cp: "context-parallel", ep: "expert-parallel", pp: "pipeline", dp: "data-parallel", other: "the whole job's",
};

// Where the time goes: category of time_share, colour, words, what it means.
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

const PATH_PARTS = [
  ["compute", "compute"], ["optimizer", "optimizer"], ["imbalance", "imbalance"], ["tp", "tp"], ["cp", "cp"], ["ep", "ep"], ["pp", "pp"], ["dp", "dp"], ["other", "other"],
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

function legend(entries) {
  return el("ul", { className: "legend" }, ...entries.map(([name, text]) => el("li", {}, swatch(name), text)));
}

// Kinds of items of the timeline: [colour, letter, words]. The first six are the kinds of computations.
const CLASSES = [
  ["forward", "F", "forward"], ["input-grad", "I", "input gradient"], ["weight-grad", "W", "weight gradient"], ["backward", "B", "backward"],
  ["recompute", "R", "recomputation"], ["optimizer", "O", "optimizer"], ["wait", "", "exposed communication"],
  ["wait-foreign", "", "exposed to other ranks' communication"], ["bubble", "", "bubble, warm-up and cool-down"], ["steady", "", "bubble, steady"],
  ["imbalance", "", "imbalance"], ["host", "", "other"], ["unknown", "", "cause not in the trace"],
];
const WAIT = 6, FOREIGN_WAIT = 7, BUBBLE = 8, STEADY = 9, IMBALANCE = 10, HOST = 11, UNKNOWN = 12;

function classOf(code, marks) {
  if (code < DATA.idle_code) {
    return Math.min(code, WAIT);
  }
  const category = DATA.categories[code - DATA.idle_code];
  if (category === undefined) {
    return UNKNOWN;
  }
  if (category.startsWith("bubble_")) {
    return category === "bubble_steady" ? STEADY : BUBBLE;
  }
  if (category.startsWith("exposed_")) {
    return marks & FOREIGN ? FOREIGN_WAIT : WAIT;
  }
  return category === "imbalance" ? IMBALANCE : HOST;
}

// "#rrggbb" as [r, g, b].
function rgb(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

function mix(a, b, share) {
  return a.map((x, i) => Math.round(x * share + b[i] * (1 - share)));
}

// Colours of CLASSES as [r, g, b], and paler ones for what is not looked for.
function classColours() {
  const paper = rgb(colour("paper"));
  const full = CLASSES.map(([name]) => (name === "wait-foreign" ? mix(rgb(colour("wait")), paper, 0.45) : rgb(colour(name))));
  return { full, pale: full.map((one) => mix(one, paper, 0.22)), paper };
}

function css(one) {
  return `rgb(${one[0]},${one[1]},${one[2]})`;
}

// Round distance of ticks, so that at most `most` fit a range.
function tick(range, most) {
  const least = range / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((digit) => digit * power).find((one) => one >= least * 0.9999);
}
