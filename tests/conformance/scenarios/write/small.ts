/** Writes the small vectors: SSE text, partial JSON, tool tags, cursors, classes of events. */
import {
  compareCursors,
  createSseParser,
  parseCursor,
  classifyEvent,
  type SseMessage,
} from "@turnstream/protocol";
import { formatSse, formatSseComment, toWireJson } from "@turnstream/protocol/writer";
import { BAD_CURSORS, CURSOR_PAIRS, GOOD_CURSORS, PARTIAL_JSON, TOOL_TAGS } from "../cases/small.ts";
import { PLACES } from "../cases/places.ts";
import { COMMENTS, FRAMES, REFUSED, TEXTS, VALUES } from "../cases/sse.ts";
import { argumentsOf, releasedBy } from "../one-block.ts";
import type {
  CursorsVector,
  PartialJsonVector,
  PlacesVector,
  SseVector,
  ToolTagsVector,
} from "../vector-types.ts";

export function sseVector(): SseVector {
  return {
    description: "Server-sent events as text: what a frame looks like, and what a parser makes of a text.",
    format: FRAMES.map(({ name, frame }) => ({ name, frame, text: formatSse(frame) })),
    comment: COMMENTS.map(({ name, comment }) => ({ name, comment, text: formatSseComment(comment) })),
    refuse: REFUSED,
    json: VALUES.map(({ name, value }) => ({ name, value, text: toWireJson(value) })),
    parse: [
      ...TEXTS,
      ...FRAMES.map(({ name, frame }) => ({ name: `sent: ${name}`, text: formatSse(frame) })),
    ].map(({ name, text }) => ({ name, text, ...parse(text) })),
  };
}

function parse(text: string): Pick<SseVector["parse"][number], "messages" | "comments" | "retries"> {
  const messages: SseMessage[] = [];
  const comments: string[] = [];
  const retries: number[] = [];
  const parser = createSseParser((message) => messages.push(message), {
    onComment: (comment) => comments.push(comment),
    onRetry: (retry) => retries.push(retry),
  });
  parser.push(text);
  return { messages, comments, retries };
}

export function partialJsonVector(): PartialJsonVector {
  return {
    description:
      "Arguments of a tool call while they stream: what is known after each chunk, and at the end.",
    cases: PARTIAL_JSON.map(({ name, chunks }) => ({ name, chunks, ...argumentsOf(chunks) })),
  };
}

export function toolTagsVector(): ToolTagsVector {
  return {
    description: "Text with <tool> spans taken out while it streams: what each chunk and the end release.",
    cases: TOOL_TAGS.map(({ name, chunks }) => ({ name, chunks, ...releasedBy(chunks) })),
  };
}

export function placesVector(): PlacesVector {
  return {
    description: "Where an event stands beside the last position: what a client takes, drops or reloads on.",
    cases: PLACES.map(({ name, last, event }) => ({ name, last, event, place: classifyEvent(last, event) })),
  };
}

export function cursorsVector(): CursorsVector {
  return {
    description: "Cursors: <epoch>-<seq>. Good ones with their numbers, bad ones, and how two compare.",
    good: GOOD_CURSORS.map((cursor) => {
      const position = parseCursor(cursor);
      if (position === null) throw new Error(`${cursor} was to be good`);
      return { cursor, epoch: position.epoch, seq: position.seq };
    }),
    bad: BAD_CURSORS.map((value) => {
      if (parseCursor(value) !== null) throw new Error(`${JSON.stringify(value)} was to be bad`);
      return value;
    }),
    order: CURSOR_PAIRS.map(([a, b]) => ({ a, b, sign: Math.sign(compareCursors(a, b)) as -1 | 0 | 1 })),
  };
}
