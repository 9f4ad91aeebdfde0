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
import { parseArguments } from "../../models/tool-schema.ts";
import type { AssistantContent, StreamPart } from "../../models/model.ts";
import { isFree, openGroup } from "./groups.ts";
import { asJsonObject } from "../../util/json.ts";
import type { BlockRef, TurnWriter } from "./turn-writer.ts";
import type { MarkerScanner } from "./citation-markers.ts";
import { defined } from "../../util/defined.ts";

export interface StepCall {
  readonly call: string;
  readonly name: string;
  /** The arguments; null if they are not valid JSON. */
  readonly input: Json;
  /** Set if the arguments can't be parsed: the error for the model. */
  readonly problem?: string;
}

export interface WrittenStep {
  readonly blocks: readonly string[];
  readonly calls: readonly StepCall[];
  readonly content: AssistantContent;
  readonly text: string;
}

/** How calls of a tool are displayed. */
export interface CallDisplay {
  readonly isHidden: boolean;
  readonly isStandalone: boolean;
  /** Null if the label depends on the input: the call is then written once it is complete. */
  readonly label: string | null;
}

export interface StepWriterOptions {
  readonly writer: TurnWriter;
  /** Returns a scanner for the citations of one text block, or null if the run has no references. */
  readonly scanner: () => MarkerScanner | null;
  readonly run: string;
  readonly isMain: boolean;
  readonly displayOf: (tool: string) => CallDisplay;
  readonly labelFor: (tool: string, input: Json) => string;
  /** Ends the open group if it can end. */
  readonly closeGroup: () => Promise<void>;
  /** Writes the text of a shared thought. Returns its block, or null for any other call. */
  readonly writeThought: (call: StepCall) => Promise<string | null>;
  /** False if the results of calls can arrive during the step, so that every call must be written at once. */
  readonly canDefer: boolean;
}

type ProviderData = NonNullable<Extract<StreamPart, { type: "reasoning-end" }>["providerMetadata"]>;

interface OpenProse {
  readonly kind: "thinking" | "text";
  readonly id: string;
  readonly place: BlockRef;
  readonly scanner: MarkerScanner | null;
}

interface OpenCall {
  readonly id: string;
  readonly name: string;
  readonly call: string;
  /** Null until the call is written to the log. */
  place: BlockRef | null;
  /** True if the call is not written in this step. */
  isDeferred: boolean;
  args: string;
}

export class StepWriter {
  readonly #options: StepWriterOptions;
  readonly #blocks: string[] = [];
  readonly #calls: StepCall[] = [];
  readonly #content: AssistantContent = [];
  readonly #open = new Map<string, OpenCall>();
  #prose: OpenProse | null = null;
  /** A text block whose end waits until it is known whether the text is final. */
  #unendedText: BlockRef | null = null;

  constructor(options: StepWriterOptions) {
    this.#options = options;
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
    return this.#options.writer.turn;
  }

  async writePart(part: StreamPart): Promise<void> {
    switch (part.type) {
      case "text-delta":
        return this.#extend("text", part.id, part.delta, part.providerMetadata);
      case "reasoning-delta":
        return this.#extend("thinking", part.id, part.delta, part.providerMetadata);
      case "reasoning-start":
      case "text-start":
        return this.#addProviderData(
          part.type === "text-start" ? "text" : "thinking",
          part.id,
          part.providerMetadata,
        );
      case "reasoning-end":
      case "text-end":
        this.#addProviderData(part.type === "text-end" ? "text" : "thinking", part.id, part.providerMetadata);
        if (this.#prose?.id === part.id) await this.#endProse();
        return;
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
    const isFinal = this.#calls.length === 0 && this.#options.isMain;
    await this.#release(isFinal);
    const text = this.#content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
    return { blocks: this.#blocks, calls: this.#calls, content: this.#content, text };
  }

  async #extend(kind: OpenProse["kind"], id: string, delta: string, data?: ProviderData): Promise<void> {
    if (delta === "") return this.#addProviderData(kind, id, data);
    const content = this.#contentOf(kind, id, data);
    content.text += delta;
    if (this.#prose?.kind !== kind || this.#prose.id !== id) await this.#startProse(kind, id);
    const prose = this.#prose;
    if (prose === null) return;
    if (prose.scanner === null) {
      await this.#options.writer.write({ type: `${kind}.delta`, ...prose.place, text: delta });
      return;
    }
    const { text, annotations } = prose.scanner.push(delta);
    if (text === "") return;
    const cited = annotations.length === 0 ? {} : { annotations };
    await this.#options.writer.write({ type: "text.delta", ...prose.place, text, ...cited });
  }

  #addProviderData(kind: OpenProse["kind"], id: string, data?: ProviderData): void {
    // Signatures of thinking must return to the model unchanged, even if no text is shown.
    if (data !== undefined) this.#contentOf(kind, id, data);
  }

  readonly #texts = new Map<string, { text: string; providerOptions?: ProviderData }>();

  #contentOf(kind: OpenProse["kind"], id: string, data?: ProviderData): { text: string } {
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
    // Thinking after a text doesn't decide whether that text is final.
    if (kind === "text") await this.#release(false);
    const { run, isMain } = this.#options;
    if (kind === "thinking") {
      if (isMain && this.#turn.mode === "agent") await this.#mark(openGroup(this.#turn));
      const place = await this.#begin({ type: "thinking.start", run });
      this.#prose = { kind, id, place, scanner: null };
      return;
    }
    if (isMain) await this.#options.closeGroup();
    // A group can't end while calls wait for results, and inside a group only text parts are allowed.
    const isPart = !isMain || this.#turn.group !== null || this.#hasWaitingCalls;
    const place = await this.#begin({ type: "text.start", run, part: isPart });
    this.#prose = { kind, id, place, scanner: this.#options.scanner() };
  }

  async #endProse(): Promise<void> {
    const prose = this.#prose;
    if (prose === null) return;
    this.#prose = null;
    const rest = prose.scanner?.end() ?? "";
    if (rest !== "") await this.#options.writer.write({ type: "text.delta", ...prose.place, text: rest });
    if (prose.kind === "text") this.#unendedText = prose.place;
    else await this.#options.writer.write({ type: "thinking.end", ...prose.place });
  }

  async #release(isFinal: boolean): Promise<void> {
    const unended = this.#unendedText;
    if (unended === null) return;
    this.#unendedText = null;
    await this.#options.writer.write({ type: "text.end", ...unended, final: isFinal });
  }

  async #startCall(id: string, name: string): Promise<OpenCall> {
    await this.#endProse();
    await this.#release(false);
    const call = this.#options.writer.allocateCallId(id);
    const open: OpenCall = { id, name, call, place: null, isDeferred: false, args: "" };
    this.#open.set(id, open);
    const { label } = this.#options.displayOf(name);
    if (label !== null) await this.#showCall(open, label);
    return open;
  }

  async #showCall(open: OpenCall, label: string): Promise<BlockRef | null> {
    const { run, isMain, displayOf } = this.#options;
    const { isHidden, isStandalone } = displayOf(open.name);
    if (isMain && !isHidden) {
      open.isDeferred = this.#mustWait(isStandalone);
      if (open.isDeferred) return null;
      if (isStandalone) await this.#options.closeGroup();
      else await this.#mark(openGroup(this.#turn));
    }
    const { call, name } = open;
    const hidden = isHidden ? { hidden: true } : {};
    open.place = await this.#begin({ type: "tool_call.start", run, call, name, label, ...hidden });
    return open.place;
  }

  /** No group can start or end while a call waits: one that stands alone, and one in a group, wait for each other. */
  #mustWait(isStandalone: boolean): boolean {
    if (!this.#options.canDefer || !this.#hasWaitingCalls) return false;
    return isStandalone ? this.#turn.group !== null : this.#turn.group === null;
  }

  async #extendCall(id: string, delta: string): Promise<void> {
    const open = this.#open.get(id);
    if (open === undefined || delta === "") return;
    open.args += delta;
    if (open.place !== null) {
      await this.#options.writer.write({ type: "tool_call.delta", ...open.place, args: delta });
    }
  }

  async #endCall(part: Extract<StreamPart, { type: "tool-call" }>): Promise<void> {
    const open = this.#open.get(part.toolCallId) ?? (await this.#startCall(part.toolCallId, part.toolName));
    this.#open.delete(part.toolCallId);
    const parsed = parseArguments(part.input);
    const input = parsed.ok ? (parsed.value as Json) : null;
    const isShown = open.place !== null;
    if (!isShown && !open.isDeferred)
      open.place = await this.#showCall(open, this.#options.labelFor(open.name, input));
    // The deltas already contain the complete arguments.
    const isStreamed = isShown && open.args !== "" && open.args === part.input && parsed.ok;
    if (open.place !== null)
      await this.#options.writer.write({
        type: "tool_call.end",
        ...open.place,
        ...(isStreamed ? {} : { input: parsed.ok ? input : part.input }),
      });
    const { call, name } = open;
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
    if (this.#options.isMain && !isFree(this.#turn)) return;
    const thought = await this.#options.writeThought(made);
    if (thought !== null) this.#blocks.push(thought);
  }

  async #begin(draft: Parameters<TurnWriter["start"]>[0]): Promise<BlockRef> {
    const place = await this.#options.writer.start(draft);
    this.#blocks.push(place.block);
    return place;
  }

  async #mark(draft: ReturnType<typeof openGroup>): Promise<void> {
    if (draft !== null) await this.#options.writer.write(draft);
  }
}
