/**
 * `addItem` and `endItem` decode the start and end of one output item, `extendText`, `finishText` and `readImage` its
 * content, as part of the `tasks` decoder.
 * Invariant: a `.done` frame repeats content, so only the part that the deltas did not deliver is written. A second
 * notice of a turn is ignored. Previews are truncated to MAX_PREVIEW.
 */
import type { Annotation, Block, Json, Reference } from "@turnstream/protocol";
import type { TasksFrameOf } from "@turnstream/protocol/tasks";
import { MAX_PREVIEW, truncateText } from "@turnstream/protocol/writer";
import { named, type EventWriter } from "../decoder/event-writer.ts";
import { toTurnErrorCode } from "../decoder/turn-error-code.ts";

type TaskItem = TasksFrameOf<"task.output_item.done">["item"];
export type TaskItemOf<T extends TaskItem["type"]> = Extract<TaskItem, { readonly type: T }>;
type TaskAnnotation = NonNullable<TasksFrameOf<"task.text.delta">["annotations"]>[number];

/** Writes the start of an item and returns its canonical index. `call` is the call id of a tool call or result. */
export function addItem(
  writer: EventWriter,
  turn: string,
  run: string,
  item: TaskItem,
  call: string,
): number {
  const on = { ...writer.next(turn), run };
  switch (item.type) {
    case "reasoning":
      writer.write({ type: "thinking.start", ...on });
      return on.index;
    case "tool_call":
      writer.write({ type: "tool_call.start", ...on, call, name: item.name, label: item.label ?? "" });
      return on.index;
    case "tool_result":
      writer.openResult(turn, call, { run });
      return writer.openResultOf(turn, call)?.index ?? on.index;
    case "message":
      writer.write({ type: "text.start", ...on, part: item.is_part ?? run !== turn });
      return on.index;
  }
}

export function endItem(
  writer: EventWriter,
  turn: string,
  run: string,
  item: TaskItem,
  block: Block | undefined,
): void {
  if (item.type === "message" && item.notice !== undefined) {
    writeNotice(writer, turn, run, item, item.notice);
    return;
  }
  if (block === undefined) return;
  const on = named(turn, block);
  if (block.kind === "thinking") writer.write({ type: "thinking.end", ...on });
  if (block.kind === "text" && item.type === "message") {
    writer.write({ type: "text.end", ...on, final: item.is_final ?? run === turn });
  }
  if (block.kind === "tool_call" && item.type === "tool_call") {
    const differs = item.arguments !== block.args;
    const input = differs ? parseArguments(item.arguments) : undefined;
    const aborted = item.status === "cancelled" ? { aborted: true } : {};
    writer.write({ type: "tool_call.end", ...on, ...(input === undefined ? {} : { input }), ...aborted });
  }
  if (block.kind === "tool_result" && item.type === "tool_result") endResult(writer, turn, item, block);
}

/** Returns undefined if the text is not JSON. */
function parseArguments(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

type Notice = NonNullable<TaskItemOf<"message">["notice"]>;

function writeNotice(
  writer: EventWriter,
  turn: string,
  run: string,
  item: TaskItemOf<"message">,
  notice: Notice,
): void {
  if (writer.find(turn, (block) => block.kind === "notice") !== undefined) return;
  const coded = notice.template === undefined ? {} : { template: notice.template };
  const on = { ...writer.next(turn), run, ...coded };
  const text = item.block_list.map((part) => (part.type === "text" ? part.text : "")).join("");
  if (notice.type === "stopped") {
    writer.write({ type: "notice.stopped", ...on, text });
    return;
  }
  const { code = "SERVER_ERROR", can_retry = false, error_type, details } = notice;
  const known = error_type === "transient" ? "transient" : "terminal";
  const more = details === undefined ? {} : { details };
  writer.write({
    type: "notice.error",
    ...on,
    text,
    code: toTurnErrorCode(code),
    can_retry,
    error_type: known,
    ...more,
  });
}

function endResult(
  writer: EventWriter,
  turn: string,
  item: TaskItemOf<"tool_result">,
  block: Extract<Block, { kind: "tool_result" }>,
): void {
  const { status = "completed", artifact = null, whole, results, usage } = item;
  const preview = item.preview ?? (item.block_list === undefined ? "" : textOf(block));
  writer.endRunOf(turn, block.call, status === "superseded" ? "cancelled" : status);
  writer.write({
    type: "tool_result.end",
    ...named(turn, block),
    status: status === "completed" ? "success" : status === "failed" ? "error" : "cancelled",
    preview: truncateText(preview, MAX_PREVIEW),
    artifact,
    ...(whole === undefined ? {} : { whole }),
    ...(results === undefined ? {} : { results }),
    ...(usage === undefined ? {} : { usage }),
  });
}

function textOf(block: Extract<Block, { kind: "tool_result" }>): string {
  return block.parts.flatMap((part) => (part.media === "text" ? [part.data] : [])).join("\n");
}

function annotationsFrom(notes: readonly TaskAnnotation[] | undefined): { annotations?: Annotation[] } {
  if (notes === undefined || notes.length === 0) return {};
  return {
    annotations: notes.map((n) => ({ reference: n.reference_id, start: n.start_index, end: n.end_index })),
  };
}

export function extendText(
  writer: EventWriter,
  turn: string,
  block: Block,
  frame: TasksFrameOf<"task.text.delta">,
): void {
  const on = named(turn, block);
  if (block.kind === "text") {
    writer.write({ type: "text.delta", ...on, text: frame.delta, ...annotationsFrom(frame.annotations) });
  } else if (block.kind === "tool_result") {
    const { block_index: part, delta: data } = frame;
    writer.write({ type: "tool_result.delta", ...on, part, media: "text", data, done: false });
  }
}

/** `.done` contains the whole text. Only the part that the deltas did not deliver is added. */
export function finishText(
  writer: EventWriter,
  turn: string,
  block: Block,
  frame: TasksFrameOf<"task.text.done">,
): void {
  const on = named(turn, block);
  const { item } = frame;
  if (block.kind === "text") {
    const text = item.text.slice(block.text.length);
    const notes = item.annotations?.slice(block.annotations.length);
    if (text !== "" || (notes !== undefined && notes.length > 0)) {
      writer.write({ type: "text.delta", ...on, text, ...annotationsFrom(notes) });
    }
  } else if (block.kind === "tool_result") {
    const part = frame.block_index;
    const data = item.text.slice(block.parts[part]?.data.length ?? 0);
    writer.write({
      type: "tool_result.delta",
      ...on,
      part,
      media: "text",
      data,
      done: true,
      ...referenceFrom(item),
    });
  }
}

function referenceFrom(item: { id?: number; title?: string; url?: string }): { reference?: Reference } {
  const { id, title, url } = item;
  if (id === undefined) return {};
  return {
    reference: { id, ...(title === undefined ? {} : { title }), ...(url === undefined ? {} : { url }) },
  };
}

type ImageFrame = TasksFrameOf<"task.image.delta" | "task.image.done">;

export function readImage(writer: EventWriter, turn: string, block: Block, frame: ImageFrame): void {
  if (block.kind !== "tool_result") return;
  const { block_index: part, item } = frame;
  const done = frame.type === "task.image.done";
  const data = item.image_url.url;
  writer.write({
    type: "tool_result.delta",
    ...named(turn, block),
    part,
    media: "image",
    data,
    done,
    ...referenceFrom(item),
  });
}
