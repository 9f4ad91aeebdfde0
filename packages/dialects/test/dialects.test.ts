/** Tests sessions on a server with another dialect: the client shows everything that the dialect carries. */
import { eraseForBlocks } from "@turnstream/conformance/support/dialect-losses.ts";
import { isPending, type SessionState } from "@turnstream/protocol";
import { describe, expect, test } from "vitest";
import { blocks } from "../src/blocks/blocks.ts";
import { responses } from "../src/responses/responses.ts";
import { tasks } from "../src/tasks/tasks.ts";
import type { SessionView } from "../../client/src/session/session.ts";
import { fastTime, shortWaits } from "../../client/test/live/fast-env.ts";
import { agent, LiveGateway, isLive, until } from "../../client/test/live/live-gateway.ts";
import { seenBy } from "../../client/test/live/seen-views.ts";
import { CASES, sizeOf, truth, turns } from "./dialect-cases.ts";

describe.for(CASES)("$dialect.name over a $channels", ({ dialect, channels, erase }) => {
  test("shows the message and the answer of a turn", async () => {
    const gateway = await LiveGateway.open();
    const session = gateway.client({ dialect, channels }).session((await gateway.stage.session()).session);
    await until(session, "live", isLive);
    const sent = session.send({ text: "long" });
    await sent.done;
    const first = await until(session, "answered", turns(1));
    expect(first.state.turns.last()?.message?.text).toBe("long");
    expect(first.outbox).toEqual([]);
    session.send({ text: "again" });
    const { state } = await until(session, "answered again", turns(2));
    expect(erase(state)).toEqual(erase(await truth(gateway, session)));
  });

  test("resumes after the connection was cut, without duplicates", async () => {
    const gateway = await LiveGateway.open();
    const session = gateway.client({ dialect, channels }).session((await gateway.stage.session()).session);
    await until(session, "live", isLive);
    session.send({ text: "long" });
    await until(session, "some of it", (view) => sizeOf(view) > 1_500);
    gateway.proxy.cutConnections();
    const { state } = await until(session, "answered", turns(1));
    expect(erase(state)).toEqual(erase(await truth(gateway, session)));
  });
});

describe.for(CASES.filter(({ dialect }) => dialect !== tasks))(
  "$dialect.name over a $channels",
  ({ dialect, channels, erase }) => {
    test("shows an approval request and sends the decision", async () => {
      const gateway = await LiveGateway.open();
      const session = gateway.client({ dialect, channels }).session((await gateway.stage.session()).session);
      await until(session, "live", isLive);
      session.send({ text: "book" });
      const asked = await until(session, "asked", (view) => pendingIn(view) !== null);
      await session.decideApproval(pendingIn(asked) ?? "", { decision: "approve" });
      const { state } = await until(session, "booked", turns(1));
      expect(erase(state)).toEqual(erase(await truth(gateway, session)));
    });
  },
);

test("U08 responses: minutes without a frame don't end the connection", async () => {
  const gateway = await LiveGateway.open();
  const env = fastTime(60);
  const session = gateway
    .client({ dialect: responses, env })
    .session((await gateway.stage.session()).session);
  const phases = new Set<string>();
  session.subscribe(() => phases.add(session.getSnapshot().connection.phase));
  await until(session, "live", isLive);
  phases.clear();
  await new Promise<void>((resolve) => env.setTimer(resolve, 240_000));
  expect([...phases]).toEqual([]);
  session.send({ text: "still there" });
  await until(session, "answered", turns(1));
});

test("responses: an error page of a proxy is retried", async () => {
  const gateway = await LiveGateway.open();
  let answered = 0;
  const between: typeof fetch = async (input, init) => {
    const address = input instanceof Request ? input.url : String(input);
    if (!new URL(address).pathname.endsWith("/events") || answered >= 3) return fetch(input, init);
    answered += 1;
    return new Response("<h1>Not Found</h1>", { status: 404, headers: { "content-type": "text/html" } });
  };
  const session = gateway
    .client({ dialect: responses, env: { ...shortWaits, fetch: between } })
    .session((await gateway.stage.session()).session);
  const { phases } = seenBy(session);
  await until(session, "live", isLive);
  expect([answered, phases().includes("closed")]).toEqual([3, false]);
});

test("H03 blocks: history and the stream after it are complete, even for a client that joins during a turn", async () => {
  const gateway = await LiveGateway.open();
  const { session: id } = await gateway.stage.session();
  const writer = gateway.client().session(id);
  await until(writer, "live", isLive);
  writer.send({ text: "book" });
  const asked = await until(writer, "asked", (view) => pendingIn(view) !== null);
  const late = gateway.client({ dialect: blocks }).session(id);
  const seen = await until(late, "asked there too", (view) => pendingIn(view) !== null);
  expect(seen.state.turns.last()?.message?.text).toBe("book");
  await writer.decideApproval(pendingIn(asked) ?? "", { decision: "approve" });
  await until(late, "booked", turns(1));
  writer.send({ text: "hello", mode: "chat" });
  const { state } = await until(late, "answered", turns(2));
  expect(state.turns.last()?.mode).toBe("chat");
  expect(shown(state)).toEqual(shown(await truth(gateway, writer)));
  // A client that joins after the last turn reads everything from history.
  const later = await until(gateway.client({ dialect: blocks }).session(id), "all of it", turns(2));
  expect(shown(later.state)).toEqual(shown(await truth(gateway, writer)));
});

test("H02 H03 blocks: a message that waits when a page loads is shown once, and its turn answers it", async () => {
  const gateway = await LiveGateway.open();
  const { session: id } = await gateway.stage.session();
  const writer = gateway.client().session(id);
  await until(writer, "live", isLive);
  writer.send({ text: "book" });
  const asked = await until(writer, "asked", (view) => pendingIn(view) !== null);
  writer.send({ text: "behind a turn" });
  const [behind] = (await until(writer, "queued", ({ state }) => state.waiting.length === 1)).state.waiting;
  const early = gateway.client({ dialect: blocks }).session(id);
  const { state: during } = await until(early, "loaded", isLive);
  expect(during.turns.last()?.status).toBe("running");
  expect(during.waiting).toMatchObject([{ id: behind?.id, text: "behind a turn" }]);
  await writer.decideApproval(pendingIn(asked) ?? "", { decision: "approve" });
  await until(writer, "both answered", turns(2));
  await gateway.worker.shutdown();
  writer.send({ text: "without a worker" });
  const [alone] = (await until(writer, "queued", ({ state }) => state.waiting.length === 1)).state.waiting;
  const late = gateway.client({ dialect: blocks }).session(id);
  const { state: between } = await until(late, "loaded", isLive);
  expect(between.turns.last()?.status).toBe("end_turn");
  expect(between.waiting).toMatchObject([{ id: alone?.id, text: "without a worker" }]);
  await gateway.stage.worker([agent]);
  for (const session of [early, late]) {
    const { state } = await until(session, "all answered", turns(3));
    expect(state.waiting).toEqual([]);
    expect(state.turns.toArray().map(({ message }) => message?.text)).toEqual([
      "book",
      "behind a turn",
      "without a worker",
    ]);
    expect(shown(state)).toEqual(shown(await truth(gateway, writer)));
  }
});

/** Keeps only what history contains of turns: their content, but not their start and duration. */
function shown(state: SessionState): unknown {
  const { turns: all } = eraseForBlocks(state) as { turns: Record<string, unknown>[] };
  return all.map(({ id, status, mode, from_share, items }) => ({ id, status, mode, from_share, items }));
}

function pendingIn(view: SessionView): string | null {
  const items = view.state.turns.last()?.items.toArray() ?? [];
  for (const item of items) if (item?.kind === "approval" && isPending(item)) return item.key;
  return null;
}
