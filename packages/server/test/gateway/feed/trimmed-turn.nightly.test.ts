/** Tests a turn that only the archive contains: new subscribers see it in every dialect, and what follows it. */
import type { Endpoint } from "@turnstream/conformance/clients/connections.ts";
import { RenderedState } from "@turnstream/conformance/clients/rendered-state.ts";
import { SessionClient } from "@turnstream/conformance/clients/session-client.ts";
import { framesFrom } from "@turnstream/conformance/support/replay.ts";
import { emptyState } from "@turnstream/protocol";
import { blocks } from "@turnstream/protocol/blocks";
import { tasks } from "@turnstream/protocol/tasks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createServer, type Server } from "../../../src/gateway/create-server.ts";
import { archiveSession } from "../../../src/session/archive/archive.ts";
import { trimLog } from "@turnstream/testkit/backend/trim-log.ts";
import { openRealBackend } from "../../runtime/real-backend.ts";
import type { HarnessBackend } from "../../runtime/turn-harness.ts";
import { plain, SessionHarness } from "../../session/session-harness.ts";

let parts: HarnessBackend;
let server: Server;
const failures: string[] = [];

beforeAll(async () => {
  parts = await openRealBackend();
  const { store, log, signals } = parts;
  server = createServer({
    store,
    log,
    signals,
    secrets: ["a secret of this test with enough characters"],
    onError: (error, { during }) => failures.push(`${during}: ${String(error)}`),
  });
  await server.listen();
});

afterAll(async () => {
  await server.close();
  await parts.signals.close();
  await parts.log.close();
  await parts.store.close();
});

const turn = { turn: "t1" };
const block = { ...turn, run: "main", block: "b1", index: 0 };

async function createTrimmedTurn(): Promise<SessionHarness> {
  const world = await (await SessionHarness.make(parts)).start();
  const started = { number: 1, message_number: 1, agent: "a", mode: "agent", from_share: false } as const;
  await world.append({ type: "session.update", title: "one" });
  await world.claim({ type: "turn.start", ...turn, ...started });
  await world.append({ type: "run.start", ...turn, run: "main", agent: "a" });
  await world.append({ type: "text.start", ...block, part: false });
  for (const text of ["so ", "much ", "was "]) await world.append({ type: "text.delta", ...block, text });
  await archiveSession(parts, world.ref);
  await trimLog(parts, world.ref);
  return world;
}

async function finish(world: SessionHarness): Promise<void> {
  await world.append(
    { type: "text.delta", ...block, text: "text" },
    { type: "text.end", ...block, final: true },
    { type: "run.end", ...turn, run: "main", status: "completed" },
  );
  await world.append({ type: "turn.end", ...turn, reason: "end_turn", duration_ms: 1 });
}

function expected(dialect: "blocks" | "tasks", world: SessionHarness): unknown {
  const screen = new RenderedState(dialect);
  const frames =
    dialect === "blocks"
      ? framesFrom(blocks, emptyState, world.events)
      : framesFrom(tasks, emptyState, world.events);
  for (const frame of frames) screen.handle({ ...frame });
  return screen.display();
}

const DIALECTS = ["blocks", "tasks", "native"] as const;

async function createEndpoint({ actor }: SessionHarness): Promise<Endpoint> {
  const { secret } = await parts.store.keys.create(actor.tenant, { name: "test", scopes: [] });
  return { url: server.url, headers: { "x-api-key": secret, "x-user-id": actor.user } };
}

test.each(["while it runs", "once it is over"])("shows all of it %s", async (when) => {
  const world = await createTrimmedTurn();
  const endpoint = await createEndpoint(world);
  if (when === "once it is over") {
    await finish(world);
    await archiveSession(parts, world.ref);
    await trimLog(parts, world.ref);
  }
  const subscribers = DIALECTS.flatMap((dialect) =>
    (["socket", "sse"] as const).map((wire) =>
      new SessionClient({ session: world.ref.session, dialect, wire }).connect(endpoint),
    ),
  );
  for (const subscriber of subscribers)
    await subscriber.until("subscribed", () => subscriber.rendered.starts.length > 0);
  if (when === "while it runs") await finish(world);
  const end = world.events.at(-1)?.id;
  for (const subscriber of subscribers) {
    await subscriber.until("all there", () => subscriber.rendered.cursor === end);
    subscriber.cut();
    const { dialect } = subscriber.options;
    const shown = subscriber.rendered.display();
    if (dialect === "native") expect(withoutTimes(shown)).toEqual(plain(world.folded()));
    else if (dialect !== "responses") expect(shown).toEqual(expected(dialect, world));
    expect(subscriber.rendered.starts).toEqual([{ resumed: false, reason: "fresh" }]);
    expect(subscriber.rendered.problems).toEqual([]);
  }
  expect(failures).toEqual([]);
});

/** The log assigns the times. */
function withoutTimes(shown: unknown): unknown {
  const times = new Set(["at", "started_at", "ended_at", "decided_at"]);
  return JSON.parse(JSON.stringify(shown, (key, value: unknown) => (times.has(key) ? undefined : value)));
}
