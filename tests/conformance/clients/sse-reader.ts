/**
 * `SseReader` is a plain SSE reader as the source document of `responses` prints it for browsers. It splits the text
 * into lines, takes those that start with `data: `, and stops at `[DONE]`. It also stores the last `id:` for
 * reconnects.
 */

type Data = Record<string, unknown>;

export class SseReader {
  private buffer = "";
  /** The `id:` line of the message being read. It becomes the cursor when the message is complete. */
  private pendingId: string | null = null;
  cursor: string | null = null;
  output = "";
  final: string | null = null;
  readonly steps: unknown[] = [];
  readonly interactions: unknown[] = [];
  readonly errors: unknown[] = [];
  readonly problems: string[] = [];
  done = false;

  push(text: string): void {
    this.buffer += text;
    const lines = this.buffer.split("\n");
    this.buffer = lines.pop() ?? "";
    for (const line of lines) this.line(line);
  }

  private line(line: string): void {
    if (line.startsWith("id: ")) this.pendingId = line.slice(4);
    if (line === "" && this.pendingId !== null) {
      this.cursor = this.pendingId;
      this.pendingId = null;
    }
    if (!line.startsWith("data: ")) return;
    const data = line.slice(6);
    if (data === "[DONE]") this.done = true;
    else this.handle(JSON.parse(data) as Data);
  }

  private handle(event: Data): void {
    const type = event["type"];
    // This reader reads one response at a time, so a new response resets it.
    if (type === "response.created") this.begin();
    else if (this.done && type !== "response.interaction_update" && type !== "response.chat.title.updated") {
      this.problems.push(`${String(type)} after [DONE]`);
    }
    if (type === "response.output_text.delta") {
      if (event["delta"] === "") this.problems.push("an empty delta");
      this.output += event["delta"] as string;
    }
    if (type === "response.output_text.completed") this.final = event["final_text"] as string;
    if (type === "response.reasoning_step.start" || type === "response.reasoning_step.end")
      this.addOnce(this.steps, event);
    if (type === "response.interaction_request") this.addOnce(this.interactions, event);
    if (type === "response.error") this.addOnce(this.errors, event);
  }

  private addOnce(list: unknown[], event: Data): void {
    // A connection that was cut before the `id:` repeats the same message after the reconnect.
    const text = JSON.stringify(event);
    if (!list.some((known) => JSON.stringify(known) === text)) list.push(event);
  }

  private begin(): void {
    this.output = "";
    this.final = null;
    this.done = false;
    this.steps.length = 0;
    this.interactions.length = 0;
    this.errors.length = 0;
  }

  display(): unknown {
    const { output, final, steps, interactions, errors, done } = this;
    return { output: final ?? output, steps, interactions, errors, done };
  }
}
