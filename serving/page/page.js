// Reads the form, sends the text to every selected model, and shows the outputs.

import { explain, models } from "./ask.js";
import { element } from "./elements.js";
import { show } from "./views.js";

const form = document.getElementById("form");
const text = document.getElementById("text");
const status = document.getElementById("status");
const answers = document.getElementById("answers");
const MOST_TEXTS = 200; // limit of the server
const typed = []; // the latest texts, whose words are candidates for neighbors
let known = [];
let asked = 0;

async function start() {
  try {
    known = await models();
  } catch (error) {
    status.textContent = `The server does not respond: ${error.message}`;
    return;
  }
  const list = document.getElementById("models");
  list.replaceChildren(...known.map(choice));
  if (!known.length) list.textContent = "No model that takes text is loaded.";
}

function choice(model) {
  const box = element("input", { type: "checkbox", checked: true, value: model.name });
  return element("label", {}, box, ` ${model.name} `, element("span", { className: "faint" },
    `version ${model.version}`));
}

async function ask(event) {
  event.preventDefault();
  const sentence = text.value.trim();
  if (!sentence) return;
  const number = ++asked;
  const chosen = known.filter((model) => form.querySelector(
    `input[value="${CSS.escape(model.name)}"]`).checked);
  if (!typed.includes(sentence)) typed.push(sentence);
  if (typed.length > MOST_TEXTS) typed.shift();
  status.textContent = chosen.length ? "Asking ..." : "Select a model.";
  const cards = await Promise.all(chosen.map((model) => card(model, sentence)));
  if (number !== asked) return; // a later text has been sent in the meantime
  answers.replaceChildren(...cards);
  if (chosen.length) status.textContent = `Answers: ${cards.length}.`;
}

async function card(model, sentence) {
  const parts = [];
  try {
    parts.push(...show(model, sentence, await explain(model, sentence), typed));
  } catch (error) {
    parts.push(element("p", { className: "wrong", role: "alert" }, error.message));
  }
  const heading = element("h2", {}, model.name);
  return element("section", { className: "card", ariaLabel: model.name }, heading, ...parts);
}

form.addEventListener("submit", ask);
text.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});
start();
