// Requests to the JSON beside the page, and the stream of changes.

const KEY = "gpusched-token";

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export function token() {
  return sessionStorage.getItem(KEY) || "";
}

export function setToken(value) {
  if (value) sessionStorage.setItem(KEY, value);
  else sessionStorage.removeItem(KEY);
}

function headers() {
  return token() ? { Authorization: `Bearer ${token()}` } : {};
}

async function answered(path, options) {
  const response = await fetch(`api/v1/${path}`, { ...options, headers: headers(), cache: "no-store" });
  if (response.ok) return response;
  let message = `HTTP ${response.status}`;
  try {
    message = (await response.json()).error || message;
  } catch {
    // A proxy on the way may answer in words of its own.
  }
  throw new Refused(response.status, message);
}

export async function get(path, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  return (await answered(query ? `${path}?${query}` : path, {})).json();
}

// EventSource cannot send a token, so the stream is read by hand. Ends when the server ends it, or throws.
export async function follow(onChange, signal) {
  const response = await answered("events", { signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const data = block.split("\n").filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
      if (data.length) onChange(JSON.parse(data.join("\n")));
    }
  }
}
