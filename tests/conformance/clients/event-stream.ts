/**
 * `readStream` and `EventStreamReader` read an event stream as the source document of `responses` prints it for
 * browsers: `fetch`, a reader, a decoder, lines. They also return the `id:` and `event:` lines, which the document
 * ignores. They don't interpret the messages.
 */

export interface StreamMessage {
  readonly id: string | null;
  readonly event: string | null;
  readonly data: string;
}

/** Turns chunks of text of any size into complete messages. Collects comments in `comments`. */
export class EventStreamReader {
  readonly comments: string[] = [];
  #buffer = "";
  #id: string | null = null;
  #event: string | null = null;
  #data: string[] = [];

  push(text: string): StreamMessage[] {
    this.#buffer += text;
    const lines = this.#buffer.split("\n");
    this.#buffer = lines.pop() ?? "";
    return lines.flatMap((line) => this.#line(line));
  }

  #line(line: string): StreamMessage[] {
    if (line === "") return this.#dispatch();
    if (line.startsWith(":")) this.comments.push(line.slice(1).trim());
    else if (line.startsWith("id: ")) this.#id = line.slice(4);
    else if (line.startsWith("event: ")) this.#event = line.slice(7);
    else if (line.startsWith("data: ")) this.#data.push(line.slice(6));
    return [];
  }

  #dispatch(): StreamMessage[] {
    const message = { id: this.#id, event: this.#event, data: this.#data.join("\n") };
    const isEmpty = this.#data.length === 0;
    this.#id = null;
    this.#event = null;
    this.#data = [];
    return isEmpty ? [] : [message];
  }
}

export interface StreamRequest {
  readonly method?: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** Passes on the text as it arrives. Resolves when the server ends the stream; rejects if it is cut off or refused. */
export async function readStream(
  url: string,
  { method = "GET", headers, body, signal }: StreamRequest,
  onText: (text: string) => void,
  onOpen: (response: Response) => void = () => undefined,
): Promise<void> {
  const response = await fetch(url, { method, headers, signal, ...(body === undefined ? {} : { body }) });
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  if (!response.ok || !isStream || response.body === null)
    throw new StreamRefused(response.status, await response.text());
  onOpen(response);
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  while (true) {
    const { done, value } = await reader.read();
    if (done) return;
    onText(decoder.decode(value as Uint8Array, { stream: true }));
  }
}

/** The server answered with something other than a stream. */
export class StreamRefused extends Error {
  override readonly name = "StreamRefused";
  readonly status: number;
  readonly body: string;

  constructor(status: number, body: string) {
    super(`refused with ${status}: ${body}`);
    this.status = status;
    this.body = body;
  }
}
