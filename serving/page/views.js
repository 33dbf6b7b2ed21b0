// Views of the outputs of a model. A view is shown if the model has the outputs for it.

import { attentionMap } from "./attention.js";
import { neighbors, vectorsOf } from "./ask.js";
import { bar, color, element, percent, table } from "./elements.js";

/** Creates the elements for the outputs of a model for a text. */
export function show(model, text, answer, typed) {
  const heading = (title, ...parts) => [element("h3", {}, title), ...parts];
  const has = (...names) => names.every((name) => answer[name] !== undefined);
  return [
    ...(has("tags") ? heading("Tags", tagged(answer)) : []),
    ...(has("path_tags") ? heading("Best paths", paths(answer)) : []),
    ...(has("probabilities", "labels") ? heading("Labels", labels(answer)) : []),
    ...(has("token_weights") ? heading("Token weights of the pooling", weights(answer)) : []),
    ...(has("attention") ? heading("Attention", attentionMap(answer)) : []),
    ...(has("forward_surprise") ? heading("Surprise (nats)", surprise(answer)) : []),
    ...(has("elmo")
      ? heading("Neighbors of a word in its context", wordsNearby(model, text, answer, typed))
      : []),
    ...(has("vectors") && typeof answer.vectors[0] === "number"
      ? heading("Similarity to the other texts", textsNearby(model, text, answer, typed))
      : []),
  ];
}

const typeOf = (tag) => (tag === "O" || !/^[BIESM]-/.test(tag) ? null : tag.slice(2));

/** Returns true if a tag continues the span of the previous tag. */
const continues = (tag, before) => /^[IEM]-/.test(tag) && typeOf(before) === typeOf(tag);

function tagged({ tokens, tags, confidences, sequence_len: length }) {
  if (!length) return nothing();
  const items = tokens.slice(0, length).map((token, place) => {
    const tag = tags[place];
    const type = typeOf(tag);
    const joined = place + 1 < length && continues(tags[place + 1], tag) ? " joined" : "";
    const within = continues(tag, tags[place - 1] ?? "O") ? " within" : "";
    const item = element("li", { className: `token${type ? " span" : ""}${within}${joined}` },
      element("span", {}, token), element("small", {}, `${tag} ${percent(confidences[place])}`));
    if (type) {
      const sure = Math.round(100 * (0.25 + 0.75 * confidences[place]));
      item.style.background = `color-mix(in srgb, ${color(type)} ${sure}%, white)`;
    }
    return item;
  });
  return element("ol", { className: "tokens", ariaLabel: "tokens and their tags" }, ...items);
}

function paths({ tokens, path_tags: found, path_probabilities: shares, sequence_len: length }) {
  if (!length) return nothing();
  const rows = found.flatMap((tags, rank) => (shares[rank] > 0 ? [[
    String(rank + 1),
    percent(shares[rank]),
    ...tags.slice(0, length).map((tag, place) => changed(tag, found[0][place])),
  ]] : []));
  return table(["", "probability", ...tokens.slice(0, length)], rows);
}

const changed = (tag, best) => (tag === best ? tag : element("mark", {}, tag));

function labels({ labels: names, probabilities }) {
  const order = names.map((_, place) => place).sort((a, b) => probabilities[b] - probabilities[a]);
  return table(["label", "", "probability"], order.map((place) => [
    names[place], bar(probabilities[place]), percent(probabilities[place])]));
}

function weights({ tokens, token_weights: shares, sequence_len: length }) {
  const most = Math.max(...shares, 1e-9);
  return element("ol", { className: "tokens" }, ...tokens.slice(0, length).map((token, place) =>
    element("li", { className: "token" }, element("span", {}, token), bar(shares[place] / most),
      element("small", {}, percent(shares[place])))));
}

function surprise({ tokens, forward_surprise: forward, backward_surprise: backward,
  sequence_len: length }) {
  if (!length) return nothing();
  const most = Math.max(...forward, ...(backward ?? []), 1);
  const items = tokens.slice(0, length).map((token, place) => {
    const ways = backward ? [forward[place], backward[place]] : [forward[place]];
    return element("li", { className: "token" }, element("span", {}, token),
      bar(ways[0] / most), ways.length > 1 ? bar(ways[1] / most, "other") : null,
      element("small", {}, ways.map((nats) => nats.toFixed(1)).join(" / ")));
  });
  const key = element("p", { className: "faint" }, element("span", { className: "key" }),
    " given the preceding tokens, ", element("span", { className: "key other" }),
    " given the following tokens");
  return element("div", {}, element("ol", { className: "tokens" }, ...items), key);
}

function wordsNearby(model, text, { tokens, sequence_len: length }, typed) {
  if (!length) return nothing();
  const words = tokens ? tokens.slice(0, length) : text.split(/\s+/);
  const found = element("div", { role: "status" },
    element("p", { className: "faint" }, "Select a word."));
  const buttons = words.map((word, place) => {
    const button = element("button", { type: "button", ariaPressed: false }, word);
    button.addEventListener("click", async () => {
      for (const other of buttons) other.firstChild.ariaPressed = other.firstChild === button;
      try {
        const near = await neighbors(model, typed, typed.indexOf(text), place);
        found.replaceChildren(near.length ? nearTable(near)
          : element("p", { className: "faint" }, "There are no other words yet. Send more texts."));
      } catch (error) {
        found.replaceChildren(element("p", { className: "wrong" }, error.message));
      }
    });
    return element("li", {}, button);
  });
  return element("div", {}, element("ol", { className: "tokens" }, ...buttons), found);
}

function nearTable(near) {
  return table(["similarity", "in its context", "from"], near.map((word) => [
    word.similarity.toFixed(3),
    element("span", {}, `${word.left} `, element("mark", {}, word.token), ` ${word.right}`),
    word.from]));
}

function textsNearby(model, text, { vectors: own }, typed) {
  const others = typed.filter((other) => other !== text);
  if (!others.length) {
    return element("p", { className: "faint" }, "There are no other texts yet. Send more texts.");
  }
  const found = element("div", { role: "status" });
  const sorted = (rows) => others.map((other, place) => [cosine(own, rows[place]), other])
    .sort(([a], [b]) => b - a);
  vectorsOf(model, others).then(
    (rows) => found.replaceChildren(table(["similarity", "text"], sorted(rows).map(
      ([similarity, other]) => [similarity.toFixed(3), other]))),
    (error) => found.replaceChildren(element("p", { className: "wrong" }, error.message)),
  );
  return found;
}

const dot = (a, b) => a.reduce((sum, value, place) => sum + value * b[place], 0);

/** Returns the cosine of two vectors; 0 if one of them is zero. */
const cosine = (a, b) => dot(a, b) / Math.max(Math.sqrt(dot(a, a) * dot(b, b)), 1e-12);

const nothing = () => element("p", { className: "faint" }, "The text has no tokens.");
