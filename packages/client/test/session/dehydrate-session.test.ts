/** Tests `dehydrateSession` and sessions that start with its result. */
import { type SessionEvent, foldAll, snapshot } from "@turnstream/protocol";
import { describe, expect, test } from "vitest";
import { createClient } from "../../src/client.ts";
import type { ClientError } from "../../src/errors.ts";
import { dehydrateSession } from "../../src/session/dehydrate-session.ts";
import { createStaticSession } from "../../src/static-session.ts";
import { sharedStorage } from "../outbox/stage.ts";

const HOSTILE = "</script><script>alert(1)</script><!-- & \u2028 \u2029 'quoted' \"twice\" \\u003c";

function log(...texts: readonly string[]): SessionEvent[] {
  const events = [
    { type: "session.start", session: "s", number: 7 },
    ...texts.flatMap((text, n) => [
      { type: "message.add", message: `m${n}`, text },
      { type: "turn.start", turn: `t${n}`, message: `m${n}`, agent: "a", number: n + 1 },
    ]),
  ];
  return events.map((event, n) => ({ v: 1, id: `1-${n + 1}`, at: n, ...event }) as unknown as SessionEvent);
}

const sessionOf = (...texts: readonly string[]) => createStaticSession(log(...texts));

describe("dehydrateSession", () => {
  test("returns JSON that can't end a script element", () => {
    const session = sessionOf(HOSTILE);
    const text = dehydrateSession(session) ?? "";
    expect(text).not.toMatch(/[<>&\u2028\u2029]/);
    expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(snapshot(session.getSnapshot().state))));
    // The same text as an expression of a script.
    // oxlint-disable-next-line no-eval -- a page may write the text into a script
    expect((0, eval)(`(${text})`)).toEqual(JSON.parse(text));
  });

  test("leaves out older turns if the text is too long, and returns null if the newest turn is", () => {
    const session = sessionOf(...Array.from({ length: 16 }, () => "x".repeat(1_000)));
    const text = dehydrateSession(session, { maxChars: 8_000 }) ?? "";
    const { turns, earlier } = JSON.parse(text) as { readonly turns: object[]; readonly earlier: number };
    expect(text.length).toBeLessThanOrEqual(8_000);
    expect([turns.length, earlier]).toEqual([4, 12]);
    expect(dehydrateSession(session, { maxChars: 500 })).toBeNull();
  });

  test("returns null for a session that was not read", () => {
    expect(dehydrateSession(createStaticSession([]))).toBeNull();
  });
});

function open(storage = sharedStorage()) {
  const errors: ClientError[] = [];
  const requests: string[] = [];
  const client = createClient({
    url: "https://chat.example.com",
    auth: () => ({ headers: {} }),
    onError: (error) => errors.push(error),
    env: {
      storage: storage.of({}),
      fetch: (url) => {
        requests.push(url as string);
        return new Promise(() => {});
      },
    },
  });
  return { client, errors, requests };
}

describe("a session with a snapshot", () => {
  test.each(["text", "object"])("shows its state at once and requests nothing (%s)", (form) => {
    const { client, requests, errors } = open();
    const text = dehydrateSession(sessionOf("hello")) ?? "";
    const session = client.session("s", { snapshot: form === "text" ? text : (JSON.parse(text) as object) });
    expect(session.getSnapshot().state).toEqual(foldAll(log("hello")));
    expect([requests, errors]).toEqual([[], []]);
  });

  test("can be named by its number", () => {
    const session = open().client.session("7", { snapshot: dehydrateSession(sessionOf("hello")) });
    expect(session.getSnapshot().state.turns.length).toBe(1);
  });

  test("shows unsent messages after the first subscription, because the server didn't know them", () => {
    const storage = sharedStorage();
    // Without a known user, the message would not be stored.
    storage.entries.set("turnstream:person:https://chat.example.com", "");
    open(storage).client.session("s").send({ text: "not sent" });
    const { client } = open(storage);
    const session = client.session("s", { snapshot: dehydrateSession(sessionOf("hello")) });
    expect(session.getSnapshot().outbox).toEqual([]);
    const leave = session.subscribe(() => {});
    expect(session.getSnapshot().outbox).toMatchObject([{ text: "not sent" }]);
    leave();
    client.close();
  });

  test("ignores a snapshot that is older than its state, or while it is in use", () => {
    const { client } = open();
    const older = dehydrateSession(sessionOf("hello"));
    const newer = dehydrateSession(sessionOf("hello", "again"));
    const session = client.session("s", { snapshot: newer });
    client.session("s", { snapshot: older });
    expect(session.getSnapshot().state.turns.length).toBe(2);
    const other = client.session("s", { snapshot: null });
    expect(other).toBe(session);
    const leave = session.subscribe(() => {});
    client.session("s", { snapshot: dehydrateSession(sessionOf("hello", "again", "once more")) });
    expect(session.getSnapshot().state.turns.length).toBe(2);
    leave();
    client.close();
  });

  test.each([
    ["no JSON", "<html>"],
    ["no snapshot", "{}"],
    ["another version", { ...snapshot(foldAll(log("hello"))), v: 99 }],
    ["another session", { ...snapshot(foldAll(log("hello"))), session: "other", number: 8 }],
  ])("ignores %s and reports it", (_, given) => {
    const { client, errors } = open();
    expect(client.session("s", { snapshot: given }).getSnapshot().state.seq).toBe(0);
    expect(errors).toMatchObject([{ code: "BAD_REQUEST" }]);
  });
});
