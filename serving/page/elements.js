// Elements of the page. Text is always set as text, never as HTML.

/** Creates a DOM element with properties and children. Null children are skipped. */
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "style") Object.assign(made.style, value);
    else if (key === "role" || key.startsWith("data-")) made.setAttribute(key, value);
    else made[key] = value;
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

export const percent = (share) => `${(100 * share).toFixed(share > 0.9995 || share < 0.0005 ? 0 : 1)} %`;

/** Creates a bar whose length is a share of its track. */
export function bar(share, className = "") {
  const inner = element("span", { className: `bar ${className}` });
  inner.style.width = `${100 * Math.min(Math.max(share, 0), 1)}%`;
  return element("span", { className: "track", ariaHidden: "true" }, inner);
}

/** Creates a table with a heading per column, from strings, numbers or elements. */
export function table(headings, rows) {
  const head = element("tr", {}, ...headings.map((h) => element("th", { scope: "col" }, h)));
  const body = rows.map((cells) => element("tr", {}, ...cells.map((cell) =>
    element("td", { className: typeof cell === "string" ? "" : "number" }, cell))));
  const whole = element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
  return element("div", { className: "scroll", tabIndex: 0, role: "group" }, whole);
}

/** Creates a labeled select box that calls `changed` with the index of the selected name. */
export function select(label, names, changed) {
  const options = names.map((name, place) => element("option", { value: place }, name));
  const box = element("select", {}, ...options);
  box.addEventListener("change", () => changed(Number(box.value)));
  return element("label", {}, `${label} `, box);
}

const HUES = [205, 30, 130, 320, 55, 265, 175, 0, 95, 235];
const hues = new Map();

/** Returns a light color for a span type, which is constant while the page is open. */
export function color(type) {
  if (!hues.has(type)) hues.set(type, HUES[hues.size % HUES.length]);
  return `hsl(${hues.get(type)} 75% 80%)`;
}
