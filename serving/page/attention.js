// Attention map of a Transformer: an image of one head, and a summary for one token.

import { element, percent, select } from "./elements.js";

const CELL = 22;
const NAMES = 110; // pixels for the names on the left and at the top
const STRONGEST = 5;

/** Creates an attention map with select boxes for its layer, head and token. */
export function attentionMap({ attention, attention_tokens: names }) {
  const length = names.findIndex((name) => name === "");
  const tokens = length < 0 ? names : names.slice(0, length);
  const heads = ["mean of all", ...attention[0].map((_, head) => String(head + 1))];
  const canvas = element("canvas", { role: "img" });
  const words = element("p", { role: "status" });
  const chosen = { layer: attention.length - 1, head: 0, token: 0 };
  const redraw = () => {
    const map = mapOf(attention[chosen.layer], chosen.head);
    draw(canvas, map, tokens, chosen.token);
    const place = `layer ${chosen.layer + 1}, ${chosen.head ? `head ${chosen.head}` : "all heads"}`;
    canvas.setAttribute("aria-label", `Attention map, ${place}: rows attend to columns.`);
    words.textContent = strongest(map[chosen.token], tokens, tokens[chosen.token]);
  };
  const choose = (name) => (place) => { chosen[name] = place; redraw(); };
  const layers = select("layer", attention.map((_, layer) => String(layer + 1)), choose("layer"));
  layers.querySelector("select").value = chosen.layer;
  const choices = element("div", { className: "choices" }, layers,
    select("head", heads, choose("head")), select("token", tokens, choose("token")));
  redraw();
  return element("div", {}, choices, words,
    element("div", { className: "scroll", tabIndex: 0, role: "group" }, canvas));
}

function mapOf(layer, head) {
  if (head) return layer[head - 1];
  return layer[0].map((row, from) => row.map((_, to) =>
    layer.reduce((sum, map) => sum + map[from][to], 0) / layer.length));
}

function strongest(row, tokens, name) {
  const order = tokens.map((_, place) => place).sort((a, b) => row[b] - row[a]);
  const read = order.slice(0, STRONGEST).map((to) => `${tokens[to]} ${percent(row[to])}`);
  return `${name} attends to ${read.join(", ")}.`;
}

function draw(canvas, map, tokens, marked) {
  const size = tokens.length * CELL;
  canvas.width = canvas.height = NAMES + size;
  const pen = canvas.getContext("2d");
  pen.fillStyle = "#ffffff";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.font = "13px system-ui, sans-serif";
  tokens.forEach((token, place) => {
    const middle = NAMES + place * CELL + CELL * 0.7;
    pen.fillStyle = place === marked ? "#0b57a4" : "#1b1f24";
    pen.textAlign = "right";
    pen.fillText(token, NAMES - 6, middle, NAMES - 10);
    pen.save();
    pen.translate(middle, NAMES - 6);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "left";
    pen.fillText(token, 0, 0, NAMES - 10);
    pen.restore();
    tokens.forEach((_, to) => {
      pen.fillStyle = `rgba(11, 87, 164, ${Math.sqrt(map[place][to])})`;
      pen.fillRect(NAMES + to * CELL, NAMES + place * CELL, CELL - 1, CELL - 1);
    });
  });
  pen.strokeStyle = "#0b57a4";
  pen.lineWidth = 2;
  pen.strokeRect(NAMES, NAMES + marked * CELL, size, CELL - 1);
}
