/** Tests `useThread`: messages, status and error of recorded sessions, and which messages stay the same objects. */
import { createStaticSession, type StaticSession } from "@turnstream/client/static";
import { renderToString } from "react-dom/server";
import { expect, test } from "vitest";
import { useComposer } from "../src/hooks/use-composer.ts";
import { type ThreadView, useThread } from "../src/hooks/use-thread.ts";
import { eventsOf, LOGS } from "./vector-logs.ts";
import { Stage } from "./stage.tsx";

/** Returns what the hook returns for the session as it is now. */
function look(session: StaticSession): ThreadView {
  let seen: ThreadView | null = null;
  const Reader = (): null => {
    seen = useThread();
    return null;
  };
  renderToString(
    <Stage session={session}>
      <Reader />
    </Stage>,
  );
  if (seen === null) throw new Error("nothing was rendered");
  return seen;
}

test.each(LOGS)("reads the log $name at every position", ({ events }) => {
  const session = createStaticSession([]);
  for (const event of events) {
    session.append([event]);
    const { messages, status } = look(session);
    const running = session.getSnapshot().state.turns.last()?.status === "running";
    expect(messages.some(({ isRunning }) => isRunning)).toBe(running);
    if (running) expect(["submitted", "streaming"]).toContain(status);
    expect(new Set(messages.map(({ role, id }) => `${role} ${id}`)).size).toBe(messages.length);
  }
});

test("the text of the answer grows, and other messages stay the same objects", () => {
  const events = eventsOf("tools-in-group");
  const start = events.findLastIndex(({ type }) => type === "text.start");
  const session = createStaticSession(events.slice(0, start + 1));
  const before = look(session);
  expect(before.status).toBe("streaming");
  session.append(events.slice(start + 1, start + 2));
  const after = look(session);
  expect(after.messages.at(-1)?.text).toBe("Giá bán tăng ");
  expect(after.messages.at(-1)).not.toBe(before.messages.at(-1));
  session.append(events.slice(start + 2));
  const ended = look(session);
  expect(ended.status).toBe("ready");
  expect(ended.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
  session.setView({ skewMs: 1 });
  expect(look(session).messages[0]).toBe(ended.messages[0]);
});

test("a message that was sent is listed until a turn answers it", () => {
  const session = createStaticSession([]);
  look(session).send("Hello");
  const { messages, status } = look(session);
  expect(messages.map(({ text, turnId }) => [text, turnId])).toEqual([["Hello", null]]);
  expect(status).toBe("submitted");
});

test("a failed turn has the text of its error", () => {
  const failed = LOGS.flatMap(({ events }) => {
    const notice = events.findIndex(({ type }) => type === "notice.error");
    const end = events.findIndex(({ type }, n) => n > notice && type === "turn.end");
    return notice < 0 ? [] : [createStaticSession(events.slice(0, end + 1))];
  });
  expect(failed.length).toBeGreaterThan(0);
  for (const session of failed) {
    const { status, error } = look(session);
    expect(status).toBe("error");
    expect(error).not.toBe("");
    expect(error).not.toBeNull();
  }
});

test("stop names the running turn, and does nothing otherwise", async () => {
  const calls: unknown[] = [];
  const events = eventsOf("tools-in-group");
  const onCommand = (name: string, args: readonly unknown[]): void => void calls.push([name, ...args]);
  const running = createStaticSession(events.slice(0, -1), { onCommand });
  look(running).stop();
  look(createStaticSession(events, { onCommand })).stop();
  await Promise.resolve();
  expect(calls).toEqual([["stop", running.getSnapshot().state.turns.last()?.id]]);
});

const Suggestion = (): null => {
  // In the first render of the page: a handler does the same later.
  const { text, setText } = useComposer();
  if (text === "") setText("A suggestion");
  return null;
};
const Field = () => <b>{useComposer({ accept: "" }).text}</b>;

test("two components share the text of the composer", () => {
  const session = createStaticSession([]);
  const page = renderToString(
    <Stage session={session}>
      <Suggestion />
      <Field />
    </Stage>,
  );
  expect(page).toContain("<b>A suggestion</b>");
});
