// Requests of the page to its server: TensorFlow Serving's REST paths and two additional ones.

async function fetchJson(path, body) {
  const headers = { "Content-Type": "application/json" }; // the server rejects other types from browsers
  const options = body === undefined ? {} : { method: "POST", body: JSON.stringify(body), headers };
  const answer = await fetch(path, options);
  const text = await answer.text();
  let content;
  try {
    content = JSON.parse(text);
  } catch {
    throw new Error(`The server returned status ${answer.status} without valid JSON.`);
  }
  if (!answer.ok) throw new Error(content.error ?? `status ${answer.status}`);
  return content;
}

/** Returns [{name, version, signature, outputs}] for the models that take text. */
export const models = () => fetchJson("models");

/** Returns the outputs for texts by name. */
async function predict(model, texts) {
  const path = `/v1/models/${encodeURIComponent(model.name)}:predict`;
  const body = { signature_name: model.signature, inputs: { text: texts } };
  return (await fetchJson(path, body)).outputs;
}

/** Returns the outputs for one text by name, without their first axis. */
export async function explain(model, text) {
  const outputs = await predict(model, [text]);
  return Object.fromEntries(Object.entries(outputs).map(([name, rows]) => [name, rows[0]]));
}

/** Returns the vectors of texts, one array of numbers for each text. */
export const vectorsOf = async (model, texts) => (await predict(model, texts)).vectors;

/** Returns [{token, left, right, from, similarity}] for the nearest words in context. */
export const neighbors = (model, texts, text, token) =>
  fetchJson("neighbors", { model: model.name, texts, text, token });
