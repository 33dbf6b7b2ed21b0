// What the page asks of the server it came from: TensorFlow Serving's REST paths, and two more.

async function fetchJson(path, body) {
  const headers = { "Content-Type": "application/json" }; // browsers may send no other
  const options = body === undefined ? {} : { method: "POST", body: JSON.stringify(body), headers };
  const answer = await fetch(path, options);
  const text = await answer.text();
  let content;
  try {
    content = JSON.parse(text);
  } catch {
    throw new Error(`${answer.status}: the answer is no JSON`);
  }
  if (!answer.ok) throw new Error(content.error ?? `status ${answer.status}`);
  return content;
}

/** [{name, version, signature, outputs}]: the models that read text. */
export const models = () => fetchJson("models");

/** The outputs for one text, by name: strings, numbers and lists without their first axis. */
export async function explain(model, text) {
  const path = `/v1/models/${encodeURIComponent(model.name)}:predict`;
  const body = { signature_name: model.signature, inputs: { text: [text] } };
  const { outputs } = await fetchJson(path, body);
  return Object.fromEntries(Object.entries(outputs).map(([name, rows]) => [name, rows[0]]));
}

/** [{token, left, right, from, similarity}]: the nearest words in their contexts. */
export const neighbours = (model, texts, text, token) =>
  fetchJson("neighbours", { model: model.name, texts, text, token });
