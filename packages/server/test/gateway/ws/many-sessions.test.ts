/**
 * Tests one socket that follows a hundred sessions over real TCP: their shared buffer is bounded, and a client that is
 * not slow gets no slow notice.
 */
import { BlocksClient } from "@turnstream/conformance/clients/blocks-client.ts";
import { TasksClient } from "@turnstream/conformance/clients/tasks-client.ts";
import { emptyState, type SessionEvent, fold, restore, type Snapshot } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import { afterEach, expect, test } from "vitest";
import { SessionHarness } from "../../session/session-harness.ts";
import { SocketClient } from "../clients.ts";
import { createMemoryBackend, openServer, type TestServer } from "../test-server.ts";
import { until } from "../test-subscriber.ts";

const SESSIONS = 100;
const QUEUE_BYTES = 512 * 1024;
/** The queue, plus Node's buffer for a connection before backpressure, plus one write above it. */
const MOST_BYTES = QUEUE_BYTES + 128 * 1024;
const ON = { turn: "t", run: "t", block: "t/0", index: 0 };
const START = { number: 1, message_number: 1, agent: "a", mode: "agent", from_share: false } as const;
const TEXT = "and so on ".repeat(200);
const TIMEOUT_MS = 90_000;

let server: TestServer;
let worlds: SessionHarness[] = [];
const clients: SocketClient[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await server.close();
  worlds = [];
});

async function open(text: string): Promise<void> {
  const parts = createMemoryBackend();
  for (let n = 0; n < SESSIONS; n++) {
    const world = await (await SessionHarness.make(parts, worlds[0]?.actor)).start();
    await world.append(
      { type: "turn.start", turn: "t", ...START },
      { type: "run.start", turn: "t", run: "t", agent: "a" },
      { type: "text.start", ...ON, part: false },
    );
    if (text !== "") await append(world, text);
    worlds.push(world);
  }
  const [{ actor }] = worlds as [SessionHarness];
  server = await openServer(parts, { actor });
}

async function connect(dialect: string): Promise<SocketClient> {
  const client = await SocketClient.open(server, { dialect });
  clients.push(client);
  return client;
}

async function subscribe(client: SocketClient): Promise<void> {
  for (let n = 0; n < SESSIONS; n += 20)
    await Promise.all(
      worlds
        .slice(n, n + 20)
        .map(({ ref }) => client.request({ type: "subscribe", session_id: ref.session })),
    );
}

function append(world: SessionHarness, text: string): Promise<void> {
  return world.append({ type: "text.delta", ...ON, text } satisfies EventDraft);
}

/**
 * Appends one delta to each session and gives clients time to read. @returns the largest number of buffered bytes of a
 * connection
 */
async function round(text = TEXT): Promise<number> {
  await Promise.all(worlds.map((world) => append(world, text)));
  await new Promise((resolve) => setImmediate(resolve));
  return server.server.stats().maxBufferedBytes;
}

/** Writes until a client that doesn't read has filled the buffers of both systems and the send queue twice. */
async function overrun(): Promise<number> {
  let most = 0;
  while (most < QUEUE_BYTES / 2) most = Math.max(most, await round());
  const rounds = Math.ceil((2 * QUEUE_BYTES) / (SESSIONS * TEXT.length));
  for (let n = 0; n < rounds; n++) most = Math.max(most, await round());
  return most;
}

function countSlowNotices({ frames }: SocketClient): number {
  return frames.filter(({ type, reason }) => type === "subscribed" && reason === "slow").length;
}

/** The text of each session as a client of the dialect shows it. */
function shown({ frames }: SocketClient, dialect: string): string[] {
  const own = new Map<unknown, (typeof frames)[number][]>(worlds.map(({ ref }) => [ref.session, []]));
  for (const frame of frames) if (frame["type"] !== "subscribed") own.get(frame["session_id"])?.push(frame);
  return worlds.map(({ ref }) => {
    const sessionFrames = own.get(ref.session) ?? [];
    if (dialect === "native") {
      let state = emptyState;
      for (const { session_id: _, ...frame } of sessionFrames)
        state =
          frame["type"] === "snapshot"
            ? restore(frame["snapshot"] as Snapshot)
            : fold(state, frame as unknown as SessionEvent);
      return JSON.stringify(state.turns.last()?.items.get(0));
    }
    const client = dialect === "blocks" ? new BlocksClient() : new TasksClient();
    for (const frame of sessionFrames) client.handle(frame);
    return JSON.stringify(client.display());
  });
}

/** Reads each frame once, because there are many. */
async function allHave({ frames }: SocketClient, text: string): Promise<void> {
  const missing = new Set(worlds.map(({ ref }) => ref.session));
  let next = 0;
  await until(() => {
    for (; next < frames.length; next++)
      if (JSON.stringify(frames[next]).includes(text)) missing.delete(frames[next]?.["session_id"] as string);
    return missing.size === 0;
  }, TIMEOUT_MS);
}

test.for(["native", "blocks", "tasks"])(
  "a client of %s that pauses briefly receives every delta of a hundred sessions without a slow notice (reliability 11)",
  { timeout: 200_000 },
  async (dialect) => {
    await open("");
    const [steady, hanging] = [await connect(dialect), await connect(dialect)];
    await subscribe(steady);
    await subscribe(hanging);
    hanging.socket.pause();
    expect(await overrun()).toBeLessThanOrEqual(MOST_BYTES);
    hanging.socket.resume();
    await round("The end.");
    await allHave(steady, "The end.");
    await allHave(hanging, "The end.");
    expect(countSlowNotices(hanging)).toBe(0);
    expect(countSlowNotices(steady)).toBe(0);
    expect(shown(hanging, dialect)).toEqual(shown(steady, dialect));
  },
);
