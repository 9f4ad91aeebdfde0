/**
 * Runs a tool: gives it its context, bounds its time, shows its progress, and takes what it returns or throws as the
 * outcome. What it says after that is not heard.
 */
import type { Artifact } from "@turnstream/protocol";
import { Countdown } from "./countdown.ts";
import { type Tool, type ToolContext, ToolError } from "./define/tool.ts";
import type { CallFact } from "./facts.ts";
import { withHost } from "./host.ts";
import { jobId } from "./job-id.ts";
import { LONGEST_TIMER_MS } from "./pause.ts";
import type { BlockPlace } from "./pen.ts";
import { asText, bounded, failed, MAX_PREVIEW, MAX_URL, outputFrom, succeeded } from "./result.ts";
import type { RunScope } from "./run-scope.ts";
import type { StepCall } from "./step-writer.ts";
import { unlessAborted } from "./together.ts";

/** More than that is not progress but noise. */
const MAX_PROGRESS = 200;

export async function runTool(
  scope: RunScope,
  call: StepCall,
  tool: Tool,
  input: unknown,
  place: BlockPlace,
): Promise<CallFact> {
  const { attempt, agent } = scope;
  const { parts } = attempt;
  const timeoutMs = Math.min(tool.timeoutMs ?? agent.limits.toolMs, LONGEST_TIMER_MS);
  // One that can be run again is stopped at once; one that can't may have a little longer.
  const stop = tool.rerun === "never" ? attempt.toolSignal : attempt.signal;
  const timeout = new AbortController();
  const clock = new Countdown();
  clock.start(timeoutMs, () => timeout.abort(new ToolTimeout(timeoutMs)));
  const signal = AbortSignal.any([stop, timeout.signal]);
  const show = new Shown(scope, place);
  try {
    const context = contextOf({ ...scope, toolClock: clock }, call, signal, show);
    const work = (async () => {
      // The last thing before the call: a process that was frozen until here finds out. One that is frozen between this
      // line and the next still calls out when it wakes up; that is what the idempotency key is for.
      attempt.requireLease();
      return tool.run(input, context);
    })();
    const returned = outputFrom(await unlessAborted(work, signal));
    const artifact = returned.artifact ?? show.artifact;
    const output = artifact === null ? returned : { ...returned, artifact };
    const fact = succeeded(
      { ...output, content: bounded(output.content, agent.limits.resultChars) },
      await show.end(),
    );
    return { ...fact, whole: await keepWhole(scope, call, output) };
  } catch (error) {
    if (stop.aborted) throw stop.reason;
    if (!parts.isFresh()) throw error;
    if (!(error instanceof ToolTimeout)) parts.onError(error, `the tool ${call.name}`);
    const shown = error instanceof ToolError || error instanceof ToolTimeout;
    const people = error instanceof ToolError ? error.forPeople : messageOf(error);
    return failed(messageOf(error), shown ? people : parts.words.toolFailed, await show.end());
  } finally {
    clock.stop();
    show.close();
  }
}

class ToolTimeout extends Error {
  constructor(ms: number) {
    super(`The tool took longer than ${Math.round(ms / 1000)} s and was stopped.`);
    this.name = "ToolTimeout";
  }
}

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message === "" ? "The tool failed." : message;
}

function contextOf(scope: RunScope, call: StepCall, signal: AbortSignal, show: Shown): ToolContext {
  const { tenant, session, turn, user } = scope.attempt.row;
  const context: ToolContext = {
    signal,
    idempotencyKey: `${jobId({ tenant, session, turn })}/${call.call}`,
    progress: (text) => show.part("text", text),
    image: (url) => show.part("image", url),
    artifact: (artifact) => show.setArtifact(artifact),
    tenant,
    session,
    turn,
    call: call.call,
    user,
  };
  return withHost(context, { scope, call });
}

async function settle(writes: readonly Promise<void>[]): Promise<void> {
  await Promise.all(writes);
}

/** What a running tool shows. Its writing is not waited for: the tool need not know that a log may be slow. */
class Shown {
  readonly #scope: RunScope;
  readonly #place: BlockPlace;
  #last: Promise<void> = Promise.resolve();
  #picture: string | null = null;
  #parts = 0;
  #isOver = false;
  artifact: Artifact | null = null;

  constructor(scope: RunScope, place: BlockPlace) {
    this.#scope = scope;
    this.#place = place;
    const block = scope.attempt.turn.items.at(place.index);
    // A result that stayed open over a takeover has parts already.
    if (block?.kind === "tool_result") this.#parts = block.parts.length;
  }

  part(media: "text" | "image", data: string): void {
    // A tool may be plain JavaScript, and what it shows is not worth failing for.
    if (this.#isOver || this.#parts >= MAX_PROGRESS || typeof data !== "string" || data === "") return;
    // An address, or a small picture in itself; more doesn't fit an event.
    if (media === "image" && data.length > MAX_URL) return;
    const isSame = media === "image" && this.#picture !== null;
    if (!isSame) this.#endPicture();
    const part = isSame ? this.#parts - 1 : this.#parts++;
    if (media === "image") this.#picture = data;
    this.#write({ part, media, data, done: media === "text" });
  }

  setArtifact(artifact: Artifact): void {
    if (!this.#isOver) this.artifact = artifact;
  }

  /** @returns how many parts were shown */
  async end(): Promise<number> {
    this.#endPicture();
    this.close();
    await this.#last;
    return this.#parts;
  }

  close(): void {
    this.#isOver = true;
  }

  #endPicture(): void {
    const data = this.#picture;
    this.#picture = null;
    if (data !== null) this.#write({ part: this.#parts - 1, media: "image", data, done: true });
  }

  #write(delta: { part: number; media: "text" | "image"; data: string; done: boolean }): void {
    const { pen } = this.#scope.attempt;
    const written = pen.write({ type: "tool_result.delta", ...this.#place, ...delta });
    this.#last = settle([this.#last, written]);
    // Whoever ends the tool hears of it; until then it is nobody's.
    this.#last.catch(() => {});
  }
}

/** The whole of a plain result that is too long to be shown, for people who open it. */
async function keepWhole(
  { attempt }: RunScope,
  call: StepCall,
  output: { content: unknown; blocks?: unknown },
) {
  if (output.blocks !== undefined) return null;
  const text = asText(output.content as never);
  if (text.length <= MAX_PREVIEW) return null;
  const isText = typeof output.content === "string";
  const mediaType = isText ? "text/plain" : "application/json";
  const body = Buffer.from(isText ? text : JSON.stringify(output.content));
  const blob = `result.${attempt.row.turn}.${call.call}.${attempt.epoch}`;
  await attempt.parts.store.blobs.put(attempt.ref, { id: blob, mediaType, body });
  return { blob, size: body.byteLength, media_type: mediaType };
}
