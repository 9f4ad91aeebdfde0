/** Inputs for the SSE vectors. The script computes the results. */
import type { Json } from "@turnstream/protocol";
import type { SseFrame } from "../../../../packages/protocol/src/sse.ts";

interface Named {
  readonly name: string;
}

export const FRAMES: readonly (Named & { readonly frame: SseFrame })[] = [
  { name: "data only", frame: { data: "hello" } },
  { name: "event, id and data", frame: { event: "response.created", id: "3-41", data: '{"type":"x"}' } },
  { name: "the end of a stream", frame: { data: "[DONE]" } },
  { name: "empty data", frame: { data: "" } },
  { name: "two lines", frame: { data: "one\ntwo" } },
  { name: "CR and CRLF are line ends too", frame: { data: "one\rtwo\r\nthree" } },
  { name: "line ends first and last", frame: { data: "\nx\n" } },
  { name: "a leading space stays", frame: { data: " indented" } },
  { name: "what looks like a field", frame: { data: "data: x\nid: 5\n: no comment" } },
  { name: "other line breaks are text", frame: { data: "a\u2028b\u2029c\u0085d\u000be" } },
  { name: "NUL in data", frame: { data: "a\0b" } },
  { name: "a BOM in data", frame: { data: "\ufeffx" } },
  { name: "Vietnamese, Chinese, emoji", frame: { id: "1-2", data: "Chào 你好 👋🏽" } },
  { name: "half a surrogate pair", frame: { data: "a\ud83db" } },
  { name: "an empty id", frame: { id: "", data: "x" } },
  { name: "retry", frame: { retry: 1500, data: "x" } },
  { name: "all fields", frame: { event: "e", id: "1-1", retry: 0, data: "x" } },
];

export const COMMENTS: readonly (Named & { readonly comment: string })[] = [
  { name: "a keep-alive", comment: "keep-alive" },
  { name: "an empty comment", comment: "" },
  { name: "a comment of two lines", comment: "one\ntwo" },
];

export const REFUSED: readonly (Named & { readonly frame: SseFrame; readonly field: string })[] = [
  { name: "a line feed in the id", frame: { id: "1\n2", data: "x" }, field: "id" },
  { name: "NUL in the id", frame: { id: "1\0", data: "x" }, field: "id" },
  { name: "CR in the event", frame: { event: "a\rb", data: "x" }, field: "event" },
  { name: "a retry that is no whole number", frame: { retry: 1.5, data: "x" }, field: "retry" },
  { name: "a negative retry", frame: { retry: -1, data: "x" }, field: "retry" },
];

export const VALUES: readonly (Named & { readonly value: Json })[] = [
  { name: "one line, whatever is in it", value: { text: "a\nb\r\nc\0" } },
  { name: "half a surrogate pair is escaped", value: ["\ud83d", "\ude00x", "😀"] },
  { name: "a BOM and a line separator stay", value: "\ufeff\u2028" },
];

export const TEXTS: readonly (Named & { readonly text: string })[] = [
  { name: "nothing", text: "" },
  { name: "a message without its empty line is not whole", text: "data: x\n" },
  { name: "one space after the colon is removed, no more", text: "data:  x\n\ndata:y\n\n" },
  { name: "CRLF", text: "event: a\r\nid: 1-1\r\ndata: x\r\n\r\n" },
  { name: "CR alone", text: "data: x\r\rdata: y\r\r" },
  { name: "line ends mixed", text: "data: a\rdata: b\ndata: c\r\n\ndata: d\n\r\n" },
  { name: "two data lines are one message", text: "data: one\ndata: two\n\n" },
  { name: "empty data lines", text: "data:\ndata\ndata: \n\n" },
  { name: "data without a colon", text: "data\n\n" },
  { name: "no data, no message", text: "event: ping\nid: 4-4\n\ndata: x\n\n" },
  { name: "empty lines between", text: "\n\n\ndata: x\n\n\n\ndata: y\n\n" },
  { name: "a BOM at the start is removed", text: "\ufeffdata: x\n\n" },
  { name: "only the first BOM is removed", text: "\ufeff\ufeffdata: x\n\ndata: \ufeffy\n\n" },
  { name: "comments", text: ": keep-alive\n\n:x\ndata: y\n: z\n\n" },
  { name: "unknown fields", text: "foo: bar\ndata: x\nDATA: y\n data: z\n\n" },
  { name: "an id belongs to its message", text: "id: 1-1\ndata: x\n\ndata: y\n\n" },
  { name: "the last id line counts", text: "id: 1-1\nid: 1-2\ndata: x\n\n" },
  { name: "an id with NUL is ignored", text: "id: 1\0\ndata: x\n\n" },
  { name: "an empty id is an id", text: "id\ndata: x\n\nid:\ndata: y\n\n" },
  { name: "the last event line counts", text: "event: a\nevent: b\ndata: x\n\n" },
  { name: "an empty event is none", text: "event: a\nevent\ndata: x\n\n" },
  { name: "retry", text: "retry: 2500\n\nretry: soon\n\nretry: 7\ndata: x\n\n" },
  { name: "colons in the value", text: "data: a:b: c\n\n" },
  { name: "other line breaks don't end lines", text: "data: a\u2028b\u0085c\u000bd\u000ce\n\n" },
  { name: "NUL in data stays", text: "data: a\0b\n\n" },
  { name: "emoji", text: "data: 👋🏽 chào\n\n" },
];
