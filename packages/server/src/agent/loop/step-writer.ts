/**
 * `StepWriter` writes one model step to the log as it streams: thinking, text, tool calls and their groups. `finish`
 * returns the blocks, the calls and the content for the model's next step. It does not call models or run tools.
 *
 * Invariant: a text ends only when it is known whether it is final: the last text of a main step without calls. Calls
 * that the provider ran itself are ignored. Provider metadata returns to the model unchanged. A call that can't be
 * written where it belongs, inside or outside of a group, is returned but not written: `runCalls` writes it later.
 */
import type { Json, Turn } from "@turnstream/protocol";
import { unansweredCalls } from "@turnstream/protocol/writer";
import { ModelError } from "../../models/errors.ts";
import type { AssistantContent, StreamPart, StreamPartOf } from "../../models/model.ts";
import { parseArguments } from "../../models/tool-schema.ts";
import { defined } from "../../util/defined.ts";
import { asJsonObject } from "../../util/json.ts";
import { closeOpenGroup, startGroup } from "../run/close-open-group.ts";
import type { StepCall, WrittenStep } from "../run/journal-entries.ts";
import { callLabel, displayOf, type RunContext } from "../run/run-context.ts";
import { MarkerScanner } from "../events/citation-markers.ts";
import { isFree } from "../../engine/events/groups.ts";
import { type BlockRef, MAIN_RUN, type TurnWriter } from "../../engine/events/turn-writer.ts";
import { sharedThought, writeThought } from "../tool-calls/share-thought.ts";

type ProviderData = NonNullable<StreamPartOf<"reasoning-end">["providerMetadata"]>;

/** The fields that all parts of a text or of thinking have. */
interface ProsePart {
  readonly id: string;
  readonly providerMetadata?: ProviderData;
}

interface OpenProse {
  readonly kind: "thinking" | "text";
  readonly id: string;
  readonly place: BlockRef;
  /** Finds the citations of a text. Null for thinking, and if the run has no references. */
  readonly scanner: MarkerScanner | null;
}

interface OpenCall {
  readonly name: string;
  readonly call: string;
  /** Null until the call is written to the log. */
  place: BlockRef | null;
  /** True if the call is not written in this step. */
  isDeferred: boolean;
  args: string;
}

export class StepWriter {
  readonly #scope: RunContext;
  readonly #writer: TurnWriter;
  readonly #isMain: boolean;
  readonly #blocks: string[] = [];
  readonly #calls: StepCall[] = [];
  readonly #content: AssistantContent = [];
  readonly #texts = new Map<string, { text: string; providerOptions?: ProviderData }>();
  readonly #open = new Map<string, OpenCall>();
  #prose: OpenProse | null = null;
  /** A text block whose end waits until it is known whether the text is final. */
  #unendedText: BlockRef | null = null;

  constructor(scope: RunContext) {
    this.#scope = scope;
    this.#writer = scope.attempt.writer;
    this.#isMain = scope.path === MAIN_RUN;
  }

  /** True if users may have seen output of the model. */
  get hasWritten(): boolean {
    return this.#content.length > 0 || this.#open.size > 0;
  }

  /** The call that was completed last. */
  get lastCall(): StepCall | null {
    return this.#calls.at(-1) ?? null;
  }

  get #hasWaitingCalls(): boolean {
    return unansweredCalls(this.#turn).some((call) => !call.hidden);
  }

  /** Adds a block to this step that another writer wrote. It is not part of the answer. */
  includeBlock(block: string): void {
    this.#blocks.push(block);
  }

  get #turn(): Turn {
    return this.#writer.turn;
  }

  async writePart(part: StreamPart): Promise<void> {
    switch (part.type) {
      case "text-start":
        return this.#addProviderData("text", part);
      case "reasoning-start":
        return this.#addProviderData("thinking", part);
      case "text-delta":
        return this.#extend("text", part);
      case "reasoning-delta":
        return this.#extend("thinking", part);
      case "text-end":
        return this.#end("text", part);
      case "reasoning-end":
        return this.#end("thinking", part);
      case "tool-input-start":
        if (part.providerExecuted !== true) await this.#startCall(part.id, part.toolName);
        return;
      case "tool-input-delta":
        return this.#extendCall(part.id, part.delta);
      case "tool-call":
        if (part.providerExecuted !== true) await this.#endCall(part);
        return;
      default:
        return;
    }
  }

  /** Throws if the stream started a call and did not complete it. */
  checkComplete(): void {
    if (this.#open.size > 0) throw new ModelError("MALFORMED");
  }

  /** Ends open blocks. A text is final if the step requests no calls. */
  async finish(): Promise<WrittenStep> {
    await this.#endProse();
    await this.#release(this.#calls.length === 0 && this.#isMain);
    const text = this.#content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
    return { blocks: this.#blocks, calls: this.#calls, content: this.#content, text };
  }

  async #extend(kind: OpenProse["kind"], part: ProsePart & { readonly delta: string }): Promise<void> {
    const { id, delta } = part;
    if (delta === "") return this.#addProviderData(kind, part);
    this.#contentOf(kind, part).text += delta;
    if (this.#prose?.kind !== kind || this.#prose.id !== id) await this.#startProse(kind, id);
    const prose = this.#prose;
    if (prose === null) return;
    if (prose.scanner === null)
      return this.#writer.write({ type: `${kind}.delta`, ...prose.place, text: delta });
    const { text, annotations } = prose.scanner.push(delta);
    if (text === "") return;
    const cited = annotations.length === 0 ? {} : { annotations };
    await this.#writer.write({ type: "text.delta", ...prose.place, text, ...cited });
  }

  async #end(kind: OpenProse["kind"], part: ProsePart): Promise<void> {
    this.#addProviderData(kind, part);
    if (this.#prose?.id === part.id) await this.#endProse();
  }

  #addProviderData(kind: OpenProse["kind"], part: ProsePart): void {
    // Signatures of thinking must return to the model unchanged, even if no text is shown.
    if (part.providerMetadata !== undefined) this.#contentOf(kind, part);
  }

  #contentOf(kind: OpenProse["kind"], { id, providerMetadata: data }: ProsePart): { text: string } {
    const key = `${kind}/${id}`;
    let content = this.#texts.get(key);
    if (content === undefined) {
      const part = { type: kind === "text" ? ("text" as const) : ("reasoning" as const), text: "" };
      this.#content.push(part);
      this.#texts.set(key, (content = part));
    }
    if (data !== undefined) content.providerOptions = { ...content.providerOptions, ...data };
    return content;
  }

  async #startProse(kind: OpenProse["kind"], id: string): Promise<void> {
    await this.#endProse();
    const { run, pool } = this.#scope;
    if (kind === "thinking") {
      // Thinking after a text doesn't decide whether that text is final.
      if (this.#turn.mode === "agent") await startGroup(this.#scope);
      const place = await this.#begin({ type: "thinking.start", run });
      this.#prose = { kind, id, place, scanner: null };
      return;
    }
    await this.#release(false);
    await closeOpenGroup(this.#scope);
    // A group can't end while calls wait for results, and inside a group only text parts are allowed.
    const isPart = !this.#isMain || this.#turn.group !== null || this.#hasWaitingCalls;
    const place = await this.#begin({ type: "text.start", run, part: isPart });
    this.#prose = { kind, id, place, scanner: pool.isEmpty ? null : new MarkerScanner(pool.has) };
  }

  async #endProse(): Promise<void> {
    const prose = this.#prose;
    if (prose === null) return;
    this.#prose = null;
    const rest = prose.scanner?.end() ?? "";
    if (rest !== "") await this.#writer.write({ type: "text.delta", ...prose.place, text: rest });
    if (prose.kind === "text") this.#unendedText = prose.place;
    else await this.#writer.write({ type: "thinking.end", ...prose.place });
  }

  async #release(isFinal: boolean): Promise<void> {
    const unended = this.#unendedText;
    if (unended === null) return;
    this.#unendedText = null;
    await this.#writer.write({ type: "text.end", ...unended, final: isFinal });
  }

  async #startCall(id: string, name: string): Promise<OpenCall> {
    await this.#endProse();
    await this.#release(false);
    const call = this.#writer.allocateCallId(id);
    const open: OpenCall = { name, call, place: null, isDeferred: false, args: "" };
    this.#open.set(id, open);
    const { label } = displayOf(this.#scope, name);
    if (label !== null) await this.#showCall(open, label);
    return open;
  }

  async #showCall(open: OpenCall, label: string): Promise<void> {
    const { call, name } = open;
    const { isHidden, isStandalone } = displayOf(this.#scope, name);
    if (this.#isMain && !isHidden) {
      open.isDeferred = this.#mustWait(isStandalone);
      if (open.isDeferred) return;
      await (isStandalone ? closeOpenGroup(this.#scope) : startGroup(this.#scope));
    }
    const { run } = this.#scope;
    const hidden = isHidden ? { hidden: true } : {};
    open.place = await this.#begin({ type: "tool_call.start", run, call, name, label, ...hidden });
  }

  /**
   * No group can start or end while a call waits: one that stands alone, and one in a group, wait for each other. The
   * results of a stream agent can arrive during the step, so that every call must be written at once.
   */
  #mustWait(isStandalone: boolean): boolean {
    if (this.#scope.agent.body !== null || !this.#hasWaitingCalls) return false;
    return isStandalone ? this.#turn.group !== null : this.#turn.group === null;
  }

  async #extendCall(id: string, delta: string): Promise<void> {
    const open = this.#open.get(id);
    if (open === undefined || delta === "") return;
    open.args += delta;
    if (open.place !== null)
      await this.#writer.write({ type: "tool_call.delta", ...open.place, args: delta });
  }

  async #endCall(part: StreamPartOf<"tool-call">): Promise<void> {
    const open = this.#open.get(part.toolCallId) ?? (await this.#startCall(part.toolCallId, part.toolName));
    this.#open.delete(part.toolCallId);
    const { call, name } = open;
    const parsed = parseArguments(part.input);
    const input = parsed.ok ? (parsed.value as Json) : null;
    const isShown = open.place !== null;
    if (!isShown && !open.isDeferred) await this.#showCall(open, callLabel(this.#scope, name, input));
    // The deltas already contain the complete arguments.
    const isStreamed = isShown && open.args !== "" && open.args === part.input && parsed.ok;
    if (open.place !== null)
      await this.#writer.write({
        type: "tool_call.end",
        ...open.place,
        ...(isStreamed ? {} : { input: parsed.ok ? input : part.input }),
      });
    const made: StepCall = { call, name, input, ...(parsed.ok ? {} : { problem: parsed.problem }) };
    this.#calls.push(made);
    this.#content.push({
      type: "tool-call",
      toolCallId: call,
      toolName: name,
      // Providers accept only an object. If the model wrote something else, the tool result explains the problem.
      input: asJsonObject(input),
      ...defined({ providerOptions: part.providerMetadata }),
    });
    // A thought stands outside of groups. Beside an open call it waits until the results are in.
    if (this.#isMain && !isFree(this.#turn)) return;
    const thought = sharedThought(this.#scope, made);
    if (thought !== null) this.#blocks.push(await writeThought(this.#scope, call, thought));
  }

  async #begin(draft: Parameters<TurnWriter["start"]>[0]): Promise<BlockRef> {
    const place = await this.#writer.start(draft);
    this.#blocks.push(place.block);
    return place;
  }
}
