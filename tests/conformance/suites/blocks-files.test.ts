/** Tests the files of a message in the `blocks` dialect. */
import { blocks } from "../support/codecs.ts";
import { SCHEMA_VERSION } from "@turnstream/protocol";
import { checkEvent } from "@turnstream/protocol/writer";
import { describe, expect, test } from "vitest";
import { LogWriter } from "../support/log-writer.ts";
import { bareFramesOf, blocksIn, framesOf, read } from "./frames.ts";

describe("file processing", () => {
  const files = [{ url: "https://files.example/ticket.pdf" }];

  test("W12 is the first block, at index 0, with the printed frames", () => {
    const log = new LogWriter().session().begin("What is on this ticket?", { files });
    const on = log.place();
    log.add({ type: "files.start", ...on, files });
    log.add({ type: "files.end", ...on, status: "completed", message: "Read 1 file" });
    const at = { message_id: log.turn, index: 0 };
    expect(bareFramesOf(blocks, log)).toEqual([
      {
        type: "user_message",
        user_message_id: "msg_1",
        text: "What is on this ticket?",
        content_urls: ["https://files.example/ticket.pdf"],
      },
      expect.objectContaining({ type: "message_start" }),
      {
        type: "content_block_start",
        ...at,
        content_block: { type: "file_processing", status: "processing", files },
      },
      { type: "content_block_delta", ...at, delta: { status: "completed", message: "Read 1 file" } },
      { type: "content_block_stop", ...at },
    ]);
  });

  test.each([
    ["completed", "Read 1 file"],
    ["failed", "The file is damaged"],
    ["failed", ""],
  ] as const)("W12 its end is a delta without a type: %s %j", (status, message) => {
    const log = new LogWriter().session().begin("x", { files });
    const on = log.place();
    log.add({ type: "files.start", ...on, files });
    log.add({ type: "files.delta", ...on, status: "processing", message: "Half way" });
    log.add({ type: "files.end", ...on, status, message });
    const frames = framesOf(blocks, log);
    const deltas = frames.flatMap((f) => (f.type === "content_block_delta" ? [f.delta] : []));
    // An empty message does not replace the one before it, as in a plain client.
    const shown = message === "" ? "Half way" : message;
    expect(deltas).toEqual([
      { status: "processing", message: "Half way" },
      { status, message: shown },
    ]);
    expect(blocksIn(read(blocks, frames).state)).toMatchObject([{ kind: "files", status, message: shown }]);
  });

  test.each([
    ["a block", (log: LogWriter) => log.think(["Hm."])],
    ["a group", (log: LogWriter) => log.openGroup()],
  ])("W12 is rejected after %s", (_, write) => {
    const log = new LogWriter().session().begin("x", { files });
    write(log);
    const stamp = { v: SCHEMA_VERSION, id: `1-${log.state.seq + 1}`, at: 0 } as const;
    expect(checkEvent(log.state, { ...stamp, type: "files.start", ...log.place(), files })?.rule).toBe("L15");
  });

  test("W04 W12 thinking follows it", () => {
    const log = new LogWriter().session().begin("x", { files });
    const on = log.place();
    log.add({ type: "files.start", ...on, files });
    log.add({ type: "files.end", ...on, status: "completed", message: "Read" });
    log.think(["So that is it."]);
    const starts = framesOf(blocks, log).flatMap((frame) =>
      frame.type === "content_block_start" ? [[frame.index, frame.content_block.type]] : [],
    );
    expect(starts).toEqual([
      [0, "file_processing"],
      [1, "thinking"],
    ]);
  });
});
