/** Tests that `resolveBlobUrls` replaces stable blob addresses in every field that can contain one, and in no other. */
import { emptyState, type SessionEvent, foldAll, snapshot } from "@turnstream/protocol";
import { blobUrl, parseBlobUrl, findBlobIds, resolveBlobUrls } from "@turnstream/protocol/writer";
import { blocks } from "@turnstream/protocol/blocks";
import { eventSchema } from "@turnstream/protocol/schema";
import { tasks } from "@turnstream/protocol/tasks";
import { describe, expect, test } from "vitest";

const sign = (blob: string): string => `https://files.example/${blob}?signed`;
const P = blobUrl("p");
const on = { turn: "t", run: "r", block: "b1", index: 1 };
const LOG = [
  { type: "session.start", session: "s", number: 1 },
  { type: "message.add", message: "m", text: P, files: [{ url: P }], whole: whole("w0") },
  {
    type: "turn.start",
    turn: "t",
    number: 1,
    message: "m",
    message_number: 1,
    agent: "a",
    mode: "agent",
    from_share: false,
  },
  { type: "run.start", turn: "t", run: "r", agent: "a" },
  { type: "tool_call.start", turn: "t", run: "r", block: "b0", index: 0, call: "c", name: "n", label: "" },
  {
    type: "tool_call.end",
    turn: "t",
    run: "r",
    block: "b0",
    index: 0,
    input: { url: P },
    whole: whole("w1"),
  },
  { type: "tool_result.start", ...on, call: "c", name: "n", label: "" },
  { type: "tool_result.delta", ...on, part: 0, media: "text", data: P, done: true },
  { type: "tool_result.delta", ...on, part: 1, media: "image", data: P, done: true },
  {
    type: "tool_result.end",
    ...on,
    status: "success",
    preview: P,
    artifact: { type: "image", data: { url: blobUrl("a b/ü") }, whole: whole("w2") },
    whole: whole("w3"),
  },
].map((draft, n) => ({ v: 1, id: `1-${n + 1}`, at: 1, ...draft }) as SessionEvent);

function whole(blob: string) {
  return { blob, size: 1, media_type: "text/plain" };
}

describe("blob addresses", () => {
  test("parseBlobUrl returns the id that blobUrl encoded, and null for other addresses", () => {
    for (const id of ["x", "a b/ü%", "result.t.c.1.0"]) expect(parseBlobUrl(blobUrl(id))).toBe(id);
    for (const other of ["https://x", "turnstream:blob/", "turnstream:blob/%E0%A4%A", "turnstream:upload/x"])
      expect(parseBlobUrl(other)).toBeNull();
  });

  test("addresses with invalid blob ids stay unchanged", () => {
    for (const bad of ["%00", "a".repeat(257)]) expect(parseBlobUrl(`turnstream:blob/${bad}`)).toBeNull();
    const odd = { whole: { blob: "\0" }, data: { whole: { blob: "\ud800" } }, url: "turnstream:blob/%00" };
    expect(findBlobIds(odd)).toEqual([]);
    expect(resolveBlobUrls(odd, sign)).toBe(odd);
  });

  test("resolveBlobUrls stops at a maximum depth instead of overflowing the stack", () => {
    let deep: unknown = { url: P };
    for (let n = 0; n < 5_000; n++) deep = n % 2 === 0 ? [deep] : { a: deep };
    expect(resolveBlobUrls({ artifact: { data: deep }, url: P }, sign)).toMatchObject({ url: sign("p") });
  });

  test("T05 resolveBlobUrls signs images, files, artifacts and wholes, and leaves texts and tool input unchanged", () => {
    const delivered = LOG.map((event) => resolveBlobUrls(event, sign));
    for (const event of delivered) expect(eventSchema.safeParse(event).error).toBeUndefined();
    expect(delivered[1]).toMatchObject({ text: P, files: [{ url: sign("p") }], whole: { url: sign("w0") } });
    expect(delivered[5]).toMatchObject({ input: { url: P }, whole: { blob: "w1", url: sign("w1") } });
    expect(delivered[7]).toBe(LOG[7]);
    expect(delivered[8]).toMatchObject({ data: sign("p") });
    const artifact = { data: { url: sign("a b/ü") }, whole: { url: sign("w2") } };
    expect(delivered[9]).toMatchObject({ preview: P, artifact, whole: { url: sign("w3") } });
  });

  test("resolving frames and snapshots gives the same as resolving their events", () => {
    const state = foldAll(LOG);
    for (const dialect of [blocks, tasks] as const) {
      let [a, b] = [dialect.attach(emptyState), dialect.attach(emptyState)];
      for (const event of LOG) {
        const [plain, signed] = [dialect.encode(a, event), dialect.encode(b, resolveBlobUrls(event, sign))];
        [a, b] = [plain.encoder, signed.encoder];
        expect(plain.frames.map((frame) => resolveBlobUrls(frame, sign))).toEqual(signed.frames);
      }
    }
    const folded = foldAll(LOG.map((event) => resolveBlobUrls(event, sign)));
    expect(resolveBlobUrls(snapshot(state), sign)).toEqual(snapshot(folded));
    expect(findBlobIds(snapshot(state)).toSorted()).toEqual(["a b/ü", "p", "w0", "w1", "w2", "w3"]);
    expect(findBlobIds(LOG).toSorted()).toEqual(["a b/ü", "p", "w0", "w1", "w2", "w3"]);
  });
});
