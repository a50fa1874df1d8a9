"use strict";
// Formatting of numbers, and HTML elements. A figure has its path in the page's data as `data-key`, by which a test compares it with the data.

const BINARY = [["TiB", 2 ** 40], ["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10], ["B", 1]];
const SCALES = {
  time: [["s", 1], ["ms", 1e-3], ["us", 1e-6], ["ns", 1e-9]],
  bytes: BINARY,
  rate: [["TB/s", 1e12], ["GB/s", 1e9], ["MB/s", 1e6], ["kB/s", 1e3], ["B/s", 1]],
  flops: [["PFLOP/s", 1e15], ["TFLOP/s", 1e12], ["GFLOP/s", 1e9], ["MFLOP/s", 1e6], ["FLOP/s", 1]],
  energy: [["GJ", 1e9], ["MJ", 1e6], ["kJ", 1e3], ["J", 1]],
};

// A number with four significant digits, or all digits before the point.
function digits(number, significant = 4) {
  if (number === 0 || !Number.isFinite(number)) {
    return String(number);
  }
  const power = Math.floor(Math.log10(Math.abs(number)));
  const text = number.toFixed(Math.min(20, Math.max(0, significant - 1 - power)));
  return power >= 4 ? text.replace(/\B(?=(\d{3})+(?!\d))/g, ",") : text;
}

// A number with its unit, in words. unit: a key of SCALES, "share", "count" or "" for a plain number.
function format(number, unit) {
  if (number === null || number === undefined) {
    return "not known";
  }
  if (unit === "share") {
    return (100 * number).toFixed(2) + " %";
  }
  if (unit === "count") {
    return Number.isInteger(number) ? number.toLocaleString("en") : digits(number);
  }
  const scale = SCALES[unit];
  if (!scale) {
    return digits(number);
  }
  if (number === 0) {
    return "0 " + scale.find((one) => one[1] === 1)[0];
  }
  const [name, factor] = scale.find((one) => Math.abs(number) >= one[1] * 0.99995) || scale[scale.length - 1];
  return digits(number / factor) + " " + name;
}

// A number with its unit and two significant digits, or all digits before the point.
function brief(number, unit) {
  return format(number, unit).replace(/^[\d.,]+/, (text) => String(Number(Number(text.replace(/,/g, "")).toPrecision(Math.max(2, text.split(".")[0].length)))));
}

function percent(share) {
  return format(share, "share");
}

// An element; `attributes` are properties of it, or attributes where their name has a dash.
function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.includes("-") || name === "for" || name === "scope" || name === "colspan") {
      node.setAttribute(name, value);
    } else {
      node[name] = value;
    }
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// Append children to the element with an id; null and undefined are skipped.
function put(id, ...children) {
  document.getElementById(id).append(...children.filter((child) => child !== null && child !== undefined));
}

// Remove the element with an id.
function drop(id) {
  document.getElementById(id).remove();
}

// The value at a path of the page's data, such as "/summary/time_share/compute"; undefined where there is none.
function at(key) {
  return key.split("/").slice(1).reduce((tree, name) => (tree === null || tree === undefined ? undefined : tree[name]), DATA);
}

// An element with the value at a path of the page's data.
function figure(key, unit) {
  return el("span", { "data-key": key, "data-unit": unit || "" }, format(at(key), unit));
}

// A table. columns: [title, class]; rows: lists of cells, which are texts or elements.
function table(caption, columns, rows, options = {}) {
  const head = el("tr", {}, ...columns.map(([title, name]) => el("th", { scope: "col", className: name || "" }, title)));
  const body = rows.map((cells) => {
    const row = el("tr", { className: cells.isSum ? "sum" : "" });
    cells.forEach((cell, i) => row.append(el(i === 0 ? "th" : "td", { className: columns[i][1] || "", ...(i === 0 ? { scope: "row" } : {}) }, cell)));
    return row;
  });
  const node = el("table", { className: options.full ? "full" : "" }, caption ? el("caption", {}, caption) : null, el("thead", {}, head), el("tbody", {}, ...body));
  const frame = el("div", { className: "wide" + (options.tall ? " tall" : ""), tabIndex: 0 }, node);
  frame.setAttribute("role", "region");
  frame.setAttribute("aria-label", caption || "table");
  return frame;
}

// The value of a colour of page.css.
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

// A small square in a colour.
function swatch(name) {
  const node = el("span", { className: "swatch", "aria-hidden": "true" });
  node.style.background = `var(--${name})`;
  return node;
}
