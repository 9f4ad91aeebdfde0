/** Sessions of a server that speaks only one of the other dialects: what the dialect carries is what is shown. */
import {
  eraseForBlocks,
  eraseForResponses,
  eraseForTasks,
  joinedText,
} from "@turnstream/conformance/support/dialect-losses.ts";
import { isPending, type SessionState } from "@turnstream/protocol";
import { describe, expect, test } from "vitest";
import { blocks } from "../../src/dialects/blocks.ts";
import { responses } from "../../src/dialects/responses.ts";
import { tasks } from "../../src/dialects/tasks.ts";
import type { Session, SessionView } from "../../src/session/session.ts";
import { fastTime } from "../live/fast-env.ts";
import { createServer } from "../../../server/src/gateway/create-server.ts";
import { LiveGateway, isLive, until } from "../live/live-gateway.ts";

const ended = (view: SessionView): boolean => {
  const last = view.state.turns.last();
  return (
    last !== undefined && last.status !== "running" && view.outbox.every(({ status }) => status !== "waiting")
  );
};
const turns =
  (count: number) =>
  (view: SessionView): boolean =>
    view.state.turns.length === count && ended(view);

async function truth(gateway: LiveGateway, session: Session): Promise<SessionState> {
  return gateway.stage.state({ tenant: gateway.stage.actor.tenant, session: session.id });
}

/** The number of a session is told with its first turn, and a client that begins it has none yet. */
function eraseTurns(state: SessionState): unknown {
  return (eraseForResponses(state, new Set(), joinedText) as { turns?: unknown }).turns;
}

const sizeOf = ({ state }: SessionView): number => JSON.stringify(state.turns.last() ?? "").length;

const CASES = [
  { dialect: blocks, channels: ["websocket"], erase: eraseForBlocks },
  { dialect: blocks, channels: ["sse"], erase: eraseForBlocks },
  { dialect: tasks, channels: ["websocket"], erase: eraseForTasks },
  { dialect: tasks, channels: ["sse"], erase: eraseForTasks },
  { dialect: responses, channels: ["sse"], erase: eraseTurns },
] as const;

describe.for(CASES)("$dialect.name over a $channels", ({ dialect, channels, erase }) => {
  test("a turn is followed, message and answer", async () => {
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

  test("it goes on after the connection was cut, without saying anything twice", async () => {
    const gateway = await LiveGateway.open();
    const session = gateway.client({ dialect, channels }).session((await gateway.stage.session()).session);
    await until(session, "live", isLive);
    session.send({ text: "long" });
    await until(session, "some of it", (view) => sizeOf(view) > 1_500);
    gateway.proxy.cutConnections();
    const { state } = await until(session, "answered", turns(1));
    expect(erase(state)).toEqual(erase(await truth(gateway, session)));
  });

  test("what is written before it is live is answered too", async () => {
    const gateway = await LiveGateway.open();
    const session = gateway.client({ dialect, channels }).session((await gateway.stage.session()).session);
    session.subscribe(() => {});
    session.send({ text: "early" });
    const { state } = await until(session, "answered", turns(1));
    expect(erase(state)).toEqual(erase(await truth(gateway, session)));
  });

  test("it goes on after the server has restarted", async () => {
    const gateway = await LiveGateway.open();
    const session = gateway.client({ dialect, channels }).session((await gateway.stage.session()).session);
    await until(session, "live", isLive);
    session.send({ text: "long" });
    await until(session, "some of it", (view) => sizeOf(view) > 1_500);
    const { server, secrets, url } = gateway.server;
    await server.close();
    const next = createServer({ ...gateway.stage.backend, secrets });
    try {
      await next.listen(Number(new URL(url).port));
      const { state } = await until(session, "answered", turns(1));
      expect(erase(state)).toEqual(erase(await truth(gateway, session)));
    } finally {
      await next.close();
    }
  });

  test("a turn is stopped", async () => {
    const gateway = await LiveGateway.open();
    const session = gateway.client({ dialect, channels }).session((await gateway.stage.session()).session);
    await until(session, "live", isLive);
    session.send({ text: "slow" });
    await until(session, "running", (view) => view.state.turns.last()?.status === "running");
    await session.stop();
    const { state } = await until(session, "stopped", ended);
    expect(state.turns.last()?.status).toBe("user_stopped");
  });
});

describe.for(CASES.filter(({ dialect }) => dialect !== tasks))(
  "$dialect.name over a $channels",
  ({ dialect, channels, erase }) => {
    test("an approval is asked for and decided", async () => {
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

test("U08 responses: nothing is said for minutes, and that is no reason to leave", async () => {
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

test("H03 blocks: history and the stream after it are the whole, also for who comes in the middle", async () => {
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
  writer.send({ text: "hello" });
  const { state } = await until(late, "answered", turns(2));
  expect(shown(state)).toEqual(shown(await truth(gateway, writer)));
  // Who comes when all is over reads everything from history.
  const later = await until(gateway.client({ dialect: blocks }).session(id), "all of it", turns(2));
  expect(shown(later.state)).toEqual(shown(await truth(gateway, writer)));
});

/** History says of turns only what they hold, not when they began nor how long they took. */
function shown(state: SessionState): unknown {
  const { turns: all } = eraseForBlocks(state) as { turns: Record<string, unknown>[] };
  return all.map(({ id, status, items }) => ({ id, status, items }));
}

function pendingIn(view: SessionView): string | null {
  const items = view.state.turns.last()?.items.toArray() ?? [];
  for (const item of items) if (item?.kind === "approval" && isPending(item)) return item.key;
  return null;
}
