// Talking to the studio; its refusals come back in words.

export class Refusal extends Error {
  constructor(status, what, remedy) {
    super(what);
    this.status = status;
    this.what = what;
    this.remedy = remedy;
  }
}

export async function call(method, path, body) {
  const json = body !== undefined && !(body instanceof Blob);
  let answer;
  try {
    answer = await fetch(path, {
      method,
      body: json ? JSON.stringify(body) : body,
      headers: json ? { "Content-Type": "application/json" } : {},
    });
  } catch {
    throw new Refusal(0, "The studio does not answer: it was stopped, or the connection was cut.",
      "Start it again with: choral studio, and open the address that it prints. Finished results are kept if it runs with --keep.");
  }
  const facts = await answer.json().catch(() => ({}));
  if (!answer.ok) {
    if (answer.status === 401) {
      throw new Refusal(401, "The studio was started again, and this page belongs to the one before.",
        "Open the address that it printed. Finished results are there if it runs with --keep.");
    }
    throw new Refusal(answer.status, facts.error ?? `The studio failed (${answer.status}).`, facts.remedy ?? "");
  }
  return facts;
}

export const get = (path) => call("GET", path);
export const post = (path, body) => call("POST", path, body);
