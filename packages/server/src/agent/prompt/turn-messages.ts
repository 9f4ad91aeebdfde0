/**
 * `turnMessages` renders an archived turn for the model: the message, texts, tool calls and their stored results. Pure.
 *
 * Invariant: every call has a result, and only the main run is included. Thinking is left out. Citations are left out
 * unless the current turn retries this one, because reference ids restart in every other turn. A quoted file can't end
 * its own quotation.
 */
import {
  currentInput,
  findToolResult,
  listBlocks,
  mainRun,
  type RequestBlock,
  type TextBlock,
  type ToolCallBlock,
  toolLabel,
  type Turn,
  type UserMessage,
} from "@turnstream/protocol";
import { truncateText } from "@turnstream/protocol/writer";
import type { AssistantContent, Prompt, PromptToolOutput } from "../../models/model.ts";
import { uploadIdOf } from "../../session/blobs/upload.ts";
import type { ModelContent, StoredImage } from "../../session/history/model-content.ts";
import { COMPACT, SHARE_THOUGHT } from "../define/agent.ts";
import { findRequests, type RequestKinds, resultJson } from "./interaction-result.ts";
import type { FileRecord } from "../run/journal-entries.ts";
import { asJsonObject } from "../../util/json.ts";
import { markersIn, withoutMarkers } from "../events/citation-markers.ts";
import { escapeReferenceTags, referenceIds, modelText, unwrapReferences } from "../run/reference-pool.ts";
import { SEEN_TYPES } from "../../text-extraction/image-type.ts";
import { stringifyContent } from "../run/tool-result.ts";
import { findThought } from "../tool-calls/share-thought.ts";
import { imagePart, resultImages } from "./images.ts";

export interface TurnMessagesOptions {
  /** Returns the stored result of a call for the model. */
  readonly resultOf: (call: string) => ModelContent | undefined;
  /** Returns true if the call started but its outcome was never journaled. */
  readonly wasStarted: (call: string) => boolean;
  /** Returns the record of a file of the message. */
  readonly fileOf: (n: number) => FileRecord | undefined;
  /** Characters per result, and of the start of a file. */
  readonly resultChars: number;
  /** True if the current turn retries this one, so that its references can still be cited. */
  readonly isCitable: boolean;
  /** True if the model sees images. */
  readonly withImages: boolean;
  readonly requestKinds: RequestKinds;
}

export function turnMessages(turn: Turn, options: TurnMessagesOptions): Prompt {
  const prompt: Prompt = [];
  if (turn.message !== null && !isEmptyMessage(turn.message)) prompt.push(userMessage(turn.message, options));
  const main = mainRun(turn)?.id;
  let assistant: AssistantContent = [];
  let calls: ToolCallBlock[] = [];
  const flush = (): void => {
    if (assistant.length > 0) prompt.push({ role: "assistant", content: assistant });
    const results = calls.map((call) => toolResult(turn, call, options));
    if (results.length > 0) prompt.push({ role: "tool", content: results });
    const images = calls.map(({ name, call }) => ({ name, images: options.resultOf(call)?.images }));
    if (options.withImages) prompt.push(...resultImages(images));
    [assistant, calls] = [[], []];
  };
  for (const block of listBlocks(turn)) {
    // The prompt already starts with the summary, and the model never requests this tool.
    if (block.run !== main || ("name" in block && block.name === COMPACT)) continue;
    // A block after a result belongs to the next step: the model had read the results before it.
    if (block.kind === "tool_result") continue;
    if (calls.some(({ call }) => (findToolResult(turn, call)?.index ?? Infinity) < block.index)) flush();
    if (block.kind === "text" && block.call === null && block.text !== "")
      assistant.push({ type: "text", text: textOf(block, options) });
    if (block.kind === "tool_call") {
      calls.push(block);
      const { call: toolCallId, name: toolName } = block;
      // Input that is not an object, or is too long for an event, is left out.
      assistant.push({ type: "tool-call", toolCallId, toolName, input: inputFor(turn, block, options) });
    }
    if (block.kind === "notice") assistant.push({ type: "text", text: `[${block.text}]` });
  }
  flush();
  return prompt;
}

function textOf({ text, annotations }: TextBlock, { isCitable }: TurnMessagesOptions): string {
  return isCitable ? text : withoutMarkers(text, annotations);
}

function inputFor(turn: Turn, call: ToolCallBlock, options: TurnMessagesOptions) {
  const input = asJsonObject(call.input ?? currentInput(call));
  if (call.name !== SHARE_THOUGHT) return input;
  const thought = findThought(turn, call.call);
  return thought === undefined ? input : { ...input, thought: textOf(thought, options) };
}

/** For a message whose files are not repeated. */
const UNREAD = { fileOf: () => undefined, resultChars: 0, withImages: false };

type FileOptions = Pick<TurnMessagesOptions, "fileOf" | "resultChars" | "withImages">;

export function userMessage(
  message: UserMessage,
  { fileOf, resultChars, withImages }: FileOptions = UNREAD,
): Prompt[number] {
  const files = message.files.map(({ url, name }, n) => {
    const record = fileOf(n);
    if (record === undefined) return `[File: ${name ?? url}]`;
    return describeFile(record, resultChars, withImages && imageIn(record) !== null);
  });
  const text = [message.text, ...files].filter((line) => line !== "").join("\n");
  const images = message.files.flatMap((_, n) => {
    const record = withImages ? fileOf(n) : undefined;
    const image = record === undefined ? null : imageIn(record);
    return image === null ? [] : [imagePart(image, record?.name)];
  });
  return { role: "user", content: [{ type: "text", text: text === "" ? "(nothing)" : text }, ...images] };
}

/** Returns the image of a file, or null for any other file. The bytes of uploads are stored in any case. */
function imageIn({ problem, mediaType, size, url, image }: FileRecord): StoredImage | null {
  const stored = image ?? (uploadIdOf(url) === null ? null : url);
  if (problem !== null || stored === null || !SEEN_TYPES.includes(mediaType)) return null;
  return { url: stored, mediaType, size };
}

/** Returns true if the message only continues from a request, whose outcome the prompt already has. */
export function isEmptyMessage({ text, files, resumes }: UserMessage): boolean {
  return text === "" && files.length === 0 && resumes !== null;
}

function toolResult(turn: Turn, block: ToolCallBlock, options: TurnMessagesOptions) {
  const { call: toolCallId, name: toolName } = block;
  return { type: "tool-result" as const, toolCallId, toolName, output: outputOf(turn, block, options) };
}

function outputOf(turn: Turn, call: ToolCallBlock, options: TurnMessagesOptions): PromptToolOutput {
  const { resultOf, wasStarted, resultChars } = options;
  const result = resultOf(call.call);
  const requests = findRequests(turn, call.call);
  if (requests.length > 0) return requestOutput(requests, call, result, options);
  if (result === undefined && wasStarted(call.call)) {
    const value = `${toolLabel(call)} was interrupted while it ran. It is unknown whether it took effect.`;
    return { type: "error-text", value };
  }
  const shown = findToolResult(turn, call.call);
  const text = result === undefined ? (shown?.preview ?? "") : resultText(result, options);
  const status = result?.status ?? shown?.status ?? "cancelled";
  const isCut = text.length > resultChars;
  const isJson = result !== undefined && typeof result.content !== "string" && result.pool.length === 0;
  // Repeat the result in its original form, so that the provider's prompt cache matches.
  if (isJson && !isCut && status === "success") return { type: "json", value: result.content as never };
  const value = isCut ? `${truncateText(text, resultChars)} [cut, ${text.length} characters]` : text;
  if (status === "success") return { type: "text", value };
  return { type: "error-text", value: value === "" ? `${toolLabel(call)} was not done.` : value };
}

function resultText(result: ModelContent, { isCitable }: TurnMessagesOptions): string {
  const { pool } = result;
  if (pool.length === 0) return stringifyContent(result.content);
  if (isCitable) return modelText(result);
  const ids = referenceIds(pool);
  // The text of a sub-agent contains citations too.
  const rest = stringifyContent(result.content);
  const markers = markersIn(rest, (id) => ids.has(id));
  const plain = withoutMarkers(rest, markers);
  return [unwrapReferences(pool), plain].filter((text) => text !== "").join("\n");
}

/** The outcome of the request is the result of the call. For a sub-agent's request, its text is added. */
function requestOutput(
  requests: readonly RequestBlock[],
  { call }: ToolCallBlock,
  result: ModelContent | undefined,
  options: TurnMessagesOptions,
): PromptToolOutput {
  const [first] = requests;
  const outcomes = requests.map((request) => resultJson(options.requestKinds, request));
  if (requests.length === 1 && first?.call === call) return { type: "json", value: outcomes[0] as never };
  const answer = result === undefined ? {} : { answer: resultText(result, options) };
  return { type: "json", value: { ...answer, requests: outcomes } as never };
}

const FILE_PROBLEMS: Readonly<Record<NonNullable<FileRecord["problem"]>, string>> = {
  NOT_ALLOWED: "its address may not be fetched",
  NOT_FOUND: "nothing was found at its address",
  TOO_LARGE: "it is too large",
  TOO_MANY: "too many files came with the message",
  TIMEOUT: "it took too long",
  UNREACHABLE: "its server could not be reached",
  UNSUPPORTED: "files of its kind can't be read here",
  UNREADABLE: "it is damaged or locked",
};

/**
 * Describes a file to the model: its type, its start and how to read more.
 * @param shownChars how much of its start is quoted; 0 for none
 * @param isSeen true if the image itself follows
 */
function describeFile(record: FileRecord, shownChars: number, isSeen: boolean): string {
  const { attachment, chars, isCut, problem, mediaType, size } = record;
  const name = JSON.stringify(record.name);
  if (problem !== null) return `[File ${name} could not be read: ${FILE_PROBLEMS[problem]}.]`;
  const kind = `${mediaType}, ${size} bytes`;
  if (isSeen) return `[File ${name}: ${kind}. The image follows.]`;
  if (chars === 0) return `[File ${name}: ${kind}, without text that could be read.]`;
  const extent = isCut
    ? `its first ${chars} characters of text (it is longer, but the rest was not stored and can't be read)`
    : `${chars} characters of text`;
  const about = `[File ${name}: ${kind}, ${extent}, attachment ${attachment ?? ""}.`;
  const head = truncateText(record.head, shownChars);
  if (head === "") return `${about} Read it with lookup_attachments.]`;
  const rest =
    chars > head.length
      ? " This is its start; read more with lookup_attachments."
      : ` This is all ${isCut ? "that is stored " : ""}of it.`;
  // The text must not be able to end its own quotation.
  const quoted = escapeReferenceTags(head).replaceAll(/<(?=\/?attachment\b)/gi, "&lt;");
  return `${about}${rest} It is quoted and not a message of the user.]\n<attachment id="${attachment ?? ""}">\n${quoted}\n</attachment>`;
}
