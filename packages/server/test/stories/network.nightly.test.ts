/**
 * Runs the stories through a gateway over real connections, in every dialect at once on the same turn. The clients know
 * only the documents. Their frames must equal the recorded frames.
 */
import type { Endpoint } from "@turnstream/conformance/clients/connections.ts";
import type { Frame } from "@turnstream/conformance/clients/rendered-state.ts";
import { ownIds, STORIES, writtenEnd, writtenFrames } from "@turnstream/conformance/stories/index.ts";
import { normalise } from "@turnstream/conformance/stories/normalise.ts";
import type { Story } from "@turnstream/conformance/stories/story.ts";
import { snapshot } from "@turnstream/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createServer, type Server } from "../../src/gateway/create-server.ts";
import { StoryEnvironment } from "./story-environment.ts";
import { play, type PlayedStory } from "./run-story.ts";
import { type StreamedReply, NetworkDriver } from "./network-driver.ts";

/** Python posts the message of these stories. */
const BY_PYTHON = new Set(["vnm-stock", "market-overview", "paris-citations", "contact-form"]);

interface Watched {
  readonly story: Story;
  readonly driver: NetworkDriver;
  readonly played: PlayedStory;
  readonly asked: readonly StreamedReply[];
}

let theatre: StoryEnvironment;
let server: Server;
const watched = new Map<string, Watched>();
const failures: string[] = [];

beforeAll(async () => {
  theatre = await StoryEnvironment.open();
  const { harness } = theatre;
  const { store, log, signals } = harness.backend;
  server = createServer({
    store,
    log,
    signals,
    secrets: ["a secret of this test with enough characters"],
    onError: (error, { during }) => failures.push(`${during}: ${String(error)}`),
  });
  const { secret } = await store.keys.create(harness.actor.tenant, { name: "stories", scopes: [] });
  const endpoint: Endpoint = {
    url: await server.listen(),
    headers: { "x-api-key": secret, "x-user-id": harness.actor.user },
  };
  for (const story of STORIES) {
    const driver = new NetworkDriver(
      harness,
      endpoint,
      theatre.served,
      BY_PYTHON.has(story.name) ? "python" : "fetch",
    );
    const played = await play(harness, story, theatre.gatesOf(story), driver);
    await driver.leave(played.state.turns.length);
    watched.set(story.name, { story, driver, played, asked: await Promise.all(driver.asked) });
  }
});

afterAll(async () => {
  await server.close();
  await theatre.close();
});

function watchedOf({ name }: Story): Watched {
  const found = watched.get(name);
  if (found === undefined) throw new Error(`${name} was not played`);
  return found;
}

/** These frames have a session id of their own. On all others it only identifies the session. */
const NAMES_SESSION = new Set(["message_start", "session_title", "task.created"]);

function bare({ session_id, ...frame }: Frame): Frame {
  return NAMES_SESSION.has(frame.type) ? { ...frame, session_id } : frame;
}

function normalOf(story: Story, frames: readonly Frame[]) {
  return normalise(frames.map(bare), ownIds(story), theatre.addressesOf(story));
}

function expectRecorded(
  story: Story,
  dialect: "blocks" | "tasks" | "responses",
  wire: "socket" | "sse",
): void {
  const { rendered } = watchedOf(story).driver.client(dialect, wire);
  expect(rendered.problems).toEqual([]);
  const normal = normalOf(story, rendered.frames);
  expect(normal.frames).toEqual(writtenFrames(story, dialect));
  const end = normal.rename(rendered.display()) as object;
  expect(end).toMatchObject(writtenEnd(story)[dialect] as object);
}

describe.each(STORIES)("$name", (story) => {
  test.each(["socket", "sse"] as const)(
    "W01 W02 W03 W04 W05 W06 W07 W08 W09 W10 W11 W12 W13 W14 W15 W16 equals the recorded frames in blocks over %s",
    (wire) => expectRecorded(story, "blocks", wire),
  );

  test.each(["socket", "sse"] as const)(
    "T01 T02 T03 T04 T05 T06 T07 T08 equals the recorded frames in tasks over %s",
    (wire) => expectRecorded(story, "tasks", wire),
  );

  test("S02 S03 S04 S05 S07 S09 equals the recorded frames in responses over sse", () => {
    expectRecorded(story, "responses", "sse");
  });

  test("S01 S02 S05 S07 is the response to the POST of `responses`, and ends with [DONE]", () => {
    const { asked } = watchedOf(story);
    const frames = asked.flatMap(({ messages }) => messages);
    const written = responsesOf(writtenFrames(story, "responses")).slice(0, asked.length);
    expect(normalOf(story, frames).frames).toEqual(written.flat());
    for (const { reader, messages } of asked) {
      expect(reader.problems).toEqual([]);
      expect(reader.done).toBe(true);
      expect(messages.filter(({ type }) => type === "[DONE]")).toHaveLength(1);
      expect(messages.at(-1)?.type).toBe("[DONE]");
    }
  });

  test.each(["socket", "sse"] as const)("H03 native events over %s fold to the state of the log", (wire) => {
    const { driver, played } = watchedOf(story);
    const { rendered } = driver.client("native", wire);
    expect(rendered.problems).toEqual([]);
    const whole = JSON.parse(JSON.stringify(snapshot(played.state))) as unknown;
    expect(rendered.display()).toEqual(whole);
  });

  test("H01 H02 H03 H04 a page that reloads in the middle ends like one that never reloads", () => {
    const { driver, played } = watchedOf(story);
    expect(played.reloads.map(({ at }) => at).toSorted()).toEqual(story.reloadAt.toSorted());
    const uncut = driver.client("blocks", "socket").rendered.display();
    for (const { history, client } of played.reloads) {
      expect(history.agent_status).toBe("running");
      expect(client.problems).toEqual([]);
      expect(withoutUser(client.display())).toEqual(withoutUser(uncut));
    }
  });

  test("W16 every frame of a socket names its session, and every client receives how it started", () => {
    const { driver, played } = watchedOf(story);
    for (const { options, rendered } of driver.clients) {
      const isLate = options.dialect === "responses";
      const expected = isLate ? { resumed: true, reason: "cursor" } : { resumed: false, reason: "fresh" };
      expect(new Set(rendered.starts.map((each) => JSON.stringify(each)))).toEqual(
        new Set([JSON.stringify(expected)]),
      );
    }
    const sockets = driver.clients.filter(({ options }) => options.wire === "socket");
    const named = sockets.flatMap(({ rendered }) => rendered.frames.map((frame) => frame["session_id"]));
    expect(new Set(named)).toEqual(new Set([played.ref.session]));
  });
});

test("U09 Python's standard library has read some of the responses", () => {
  const by = [...watched.values()].flatMap(({ asked }) => asked.map((each) => each.by));
  expect(by.filter((who) => who === "python").length).toBeGreaterThanOrEqual(BY_PYTHON.size);
  expect(by).toContain("fetch");
});

test("the gateway reports no error", () => {
  expect(failures).toEqual([]);
});

/** Frames between two responses belong to neither, except for a title, which `normalise` moves to the end. */
function responsesOf(frames: readonly Frame[]): Frame[][] {
  const found: Frame[][] = [];
  let isOpen = false;
  for (const frame of frames) {
    if (frame.type === "response.created") found.push([]);
    isOpen ||= frame.type === "response.created";
    if (isOpen || frame.type === "response.chat.title.updated") found.at(-1)?.push(frame);
    if (frame.type === "[DONE]") isOpen = false;
  }
  return found;
}

/** History also has the user's own message, and knows of a text that a call follows. */
function withoutUser(display: unknown): unknown {
  const shown = display as Record<string, { items: readonly { type: string }[] }>;
  return Object.entries(shown).map(([id, { items, ...rest }]) => ({
    id,
    ...rest,
    items: items
      .filter(({ type }) => type !== "user")
      .map((item) => (item.type === "text" ? { ...item, is_part: null } : item)),
  }));
}
