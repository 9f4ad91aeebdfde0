/**
 * `newBlock` creates the block of a start event, or of an event that contains a whole block. Only shapes, no decisions.
 * Invariant: a new block is open and empty; only a notice arrives complete. Every field is set, so that equal logs fold
 * to equal states. `shown` is null until the fold shows the block.
 */
import type { EventOf } from "../events/index.ts";
import { emptyPartialJson } from "../partial-json.ts";
import type { Block, BlockBase } from "../state.ts";

export type StartEvent = EventOf<
  | "thinking.start"
  | "text.start"
  | "tool_call.start"
  | "tool_result.start"
  | "files.start"
  | "notice.stopped"
  | "notice.error"
>;

/** Returns the common fields of a new block. `whole` is true for a block that arrives complete. */
export function blockBase(
  event: { readonly block: string; readonly run: string; readonly index: number; readonly at: number },
  seq: number,
  whole: boolean,
): BlockBase {
  return {
    id: event.block,
    run: event.run,
    index: event.index,
    start: seq,
    started_at: event.at,
    shown: null,
    end: whole ? seq : null,
    ended_at: whole ? event.at : null,
    aborted: false,
  };
}

export function newBlock(event: StartEvent, seq: number, output: number): Block {
  switch (event.type) {
    case "thinking.start":
      return { ...blockBase(event, seq, false), kind: "thinking", output, text: "" };
    case "text.start":
      return {
        ...blockBase(event, seq, false),
        kind: "text",
        output,
        text: "",
        part: event.part,
        final: false,
        call: event.call ?? null,
        annotations: [],
      };
    case "tool_call.start":
      return {
        ...blockBase(event, seq, false),
        kind: "tool_call",
        output,
        call: event.call,
        name: event.name,
        label: event.label,
        hidden: event.hidden ?? false,
        args: "",
        parsed: emptyPartialJson,
        input: null,
        given: false,
        whole: null,
      };
    case "tool_result.start":
      return {
        ...blockBase(event, seq, false),
        kind: "tool_result",
        output,
        call: event.call,
        name: event.name,
        label: event.label,
        hidden: event.hidden ?? false,
        parts: [],
        status: "running",
        preview: "",
        artifact: null,
        whole: null,
        results: null,
        usage: null,
      };
    case "files.start":
      return {
        ...blockBase(event, seq, false),
        kind: "files",
        files: event.files.map((file) => ({ ...file, status: "processing" })),
        status: "processing",
        message: "",
      };
    case "notice.stopped":
      return {
        ...blockBase(event, seq, true),
        kind: "notice",
        output,
        notice: "stopped",
        text: event.text,
        by: event.by ?? null,
        template: event.template ?? null,
        error: null,
      };
    case "notice.error": {
      const { code, can_retry, error_type, details } = event;
      const error = { code, can_retry, error_type, ...(details === undefined ? {} : { details }) };
      return {
        ...blockBase(event, seq, true),
        kind: "notice",
        output,
        notice: "error",
        text: event.text,
        by: null,
        template: event.template ?? null,
        error,
      };
    }
  }
}
