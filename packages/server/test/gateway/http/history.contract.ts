/** The contract of history over HTTP: pages of history and turns, snapshots, end states, stops and retries. */
import { listBlocks, foldAll, restore, SCHEMA_VERSION, type Snapshot, snapshot } from "@turnstream/protocol";
import { type BlocksHistory, toHistory, toHistoryMessages } from "@turnstream/protocol/blocks";
import { BlocksClient } from "@turnstream/conformance/clients/blocks-client.ts";
import { PrintedPage } from "@turnstream/conformance/clients/printed-page.ts";
import { afterEach, describe, expect, it } from "vitest";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { archiveSession } from "../../../src/session/archive/archive.ts";
import { messageKey } from "../../../src/session/message-event.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import type { HarnessBackend } from "../../engine/turn-harness.ts";
import { StreamClient } from "../clients.ts";
import { GatewayHarness } from "../gateway-harness.ts";

const FORM = {
  title: "Contact",
  fields: [{ name: "email", label: "E-mail", type: "email", required: true }],
};

interface Reload {
  readonly history: BlocksHistory;
  readonly stream: StreamClient;
}

const OPEN = (): Promise<void> => Promise.resolve();
/** The gate that its tool waits for. */
let toolGate = OPEN;

const guide = defineAgent({
  name: "guide",
  title: false,
  requestForms: true,
  retry: { maxAttempts: 1 },
  tools: {
    look: tool({ label: "Looking", idempotent: true, run: () => toolGate().then(() => "free beds") }),
    book: tool({ label: "Booking", approval: true, run: () => "booked" }),
  },
  model: scriptedModel(({ text, step }) => {
    if (text === "hang") return [script.text("One moment"), script.hang()];
    if (text === "fail") return [script.error({ status: 500 }, { times: 1 }), script.text("now it works")];
    if (text === "form") return [script.toolCall("request_form", FORM)];
    if (text === "slow")
      return step < 2
        ? [script.reasoning("Let me see. ".repeat(5), { paceMs: 2 }), script.toolCall("look")]
        : [script.text("It is so. ".repeat(10), { paceMs: 4 })];
    if (text === "book")
      return step === 0 ? [script.reasoning("hm"), script.toolCall("book")] : [script.text("Booked.")];
    return step === 0
      ? [script.reasoning("hm"), script.toolCall("look")]
      : [script.text(`All about ${text}.`)];
  }),
});

/** What a client shows of the agent. Frames of user messages don't name a turn, but history does. */
function answers(client: BlocksClient): unknown {
  return Object.entries(client.display()).map(([id, { items, ...rest }]) => [
    id,
    { ...rest, items: (items as { type: string }[]).filter(({ type }) => type !== "user") },
  ]);
}

/** What a reloaded page shows after the end of a turn. */
async function continued({ history, stream }: Reload, turn: string): Promise<BlocksClient> {
  const client = new BlocksClient();
  client.load(history);
  const isThere = history.messages.some(({ message_id }) => message_id === turn);
  if (history.agent_status === "running" || !isThere)
    await stream.until("the end", ({ event, data }) => event === "message_stop" && data.includes(turn));
  for (const frame of stream.frames) if (frame["type"] !== "subscribed") client.handle(frame);
  expect(client.problems).toEqual([]);
  stream.disconnect();
  return client;
}

export function historyContract(name: string, makeParts: () => Promise<HarnessBackend>): void {
  let harness: GatewayHarness;
  const openWithoutWorker = async (): Promise<SessionRef> => {
    harness = await GatewayHarness.open(await makeParts());
    return harness.stage.session();
  };
  const open = async (): Promise<SessionRef> => {
    const ref = await openWithoutWorker();
    await harness.stage.worker([guide]);
    return ref;
  };
  const loadHistory = ({ session }: SessionRef): Promise<BlocksHistory> =>
    harness.json("GET", `/sessions/${session}/history`);
  const subscribe = ({ session }: SessionRef, { last_event_id }: BlocksHistory): Promise<StreamClient> => {
    const { url, auth: headers } = harness.server;
    const address = `${url}/api/v1/sessions/${session}/events?last_event_id=${last_event_id}`;
    return StreamClient.open(address, { headers });
  };
  /** Loads history and subscribes after it, as a page does after F5. */
  async function reload(ref: SessionRef): Promise<Reload> {
    const history = await loadHistory(ref);
    return { history, stream: await subscribe(ref, history) };
  }
  /** All pages of a URL, the oldest first. */
  async function pages(path: string, limit: number): Promise<Record<string, unknown>[]> {
    const all: Record<string, unknown>[] = [];
    for (let before = ""; ;) {
      const page = await harness.json("GET", `${path}?limit=${limit}${before}`);
      all.unshift(page);
      expect(page.has_more).toBe(page.next_before !== null);
      if (page.next_before === null) return all;
      before = `&before=${page.next_before}`;
    }
  }

  describe(`history over HTTP on ${name}`, () => {
    afterEach(() => harness.close());

    it("H01 H02 history has pages back in time, which together contain everything", async () => {
      const ref = await open();
      const { stage } = harness;
      // A pending form keeps its turn in every page, and must not be shown twice.
      await stage.ask(ref, "form");
      await stage.ask(ref, "form");
      for (const text of ["a", "b", "c"]) await stage.ask(ref, text);
      await archiveSession(stage.backend, ref);
      for (const text of ["d", "e"]) await stage.ask(ref, text);
      // The result of the other form is only in the log.
      const [{ key }] = (await harness.json("GET", `/sessions/${ref.session}/interactions?limit=1`))
        .interactions;
      await harness.json("POST", `/sessions/${ref.session}/interactions/${key}/decline`, { go_on: false });
      const whole = toHistory(await stage.state(ref));
      for (const limit of [1, 2, 4, 6, 50]) {
        const all = await pages(`/sessions/${ref.session}/history`, limit);
        expect(all.flatMap(({ messages }) => messages)).toEqual(JSON.parse(JSON.stringify(whole.messages)));
        const { messages: _, has_more: __, next_before: ___, ...now } = all.at(-1) ?? {};
        const { messages: ____, ...rest } = whole;
        expect(now).toEqual(JSON.parse(JSON.stringify(rest)));
        expect(now).toMatchObject({ agent_status: "idle", pending: [{ type: "form_request" }] });
        for (const page of all.slice(0, -1))
          expect(Object.keys(page).toSorted()).toEqual(["has_more", "messages", "next_before"]);
      }
      const number = (await stage.backend.store.sessions.find(ref))?.number;
      expect(await harness.json("GET", `/chats/${number}/history?limit=1`)).toMatchObject({ has_more: true });
    });

    it("H03 history plus the stream after its cursor equals the whole session at any moment", async () => {
      const ref = await open();
      const { stage } = harness;
      await stage.ask(ref, "a");
      const reloads = [await reload(ref)];
      // The turn waits at each of its tools until some clients have loaded. On a busy machine it would end before.
      const waiting: (() => void)[] = [];
      toolGate = () => new Promise((resolve) => void waiting.push(resolve));
      await stage.send(ref, "slow");
      let message = "";
      for (const n of [0, 1]) {
        await expect.poll(() => waiting.length, { timeout: 60_000 }).toBe(n + 1);
        reloads.push(await reload(ref));
        // One more message waits behind the turn.
        message = await stage.send(ref, `later ${n}`);
        reloads.push(await reload(ref));
        waiting[n]?.();
      }
      toolGate = OPEN;
      for (let n = 0; n < 8; n++) {
        reloads.push(await reload(ref));
      }
      const { id } = await stage.ended(ref, (turn) => turn.message?.id === message);
      const whole = new BlocksClient();
      whole.load(toHistory(await stage.state(ref)));
      for (const each of reloads) {
        const client = await continued(each, id);
        expect(answers(client)).toEqual(answers(whole));
        expect(client.questions).toEqual(["a", "slow", "later 0", "later 1"]);
      }
      // Some clients must have loaded while the turn ran, or the test proves nothing.
      const running = reloads.filter(({ history }) => history.agent_status === "running");
      expect(running.length).toBeGreaterThan(3);
      expect(new Set(running.map(({ history }) => history.last_event_id)).size).toBeGreaterThan(1);
    });

    it("H02 H03 a reload while messages wait for a worker shows each once, and its stream has their turns", async () => {
      const ref = await openWithoutWorker();
      const { stage } = harness;
      const { store } = stage.backend;
      expect((await reload(ref)).history).toMatchObject({ agent_status: "idle", messages: [] });
      // A process stored a message and died, so the log doesn't have it yet.
      const draft = { type: "message.add", message: "m1", text: "a" } as const;
      await store.transaction(async (tx) => {
        await tx.queuedMessages.add(ref, { id: "m1", text: "a" });
        await tx.outbox.add(ref, { key: messageKey("m", "m1"), draft });
      });
      const unpublished = await reload(ref);
      expect(unpublished.history).toMatchObject({ agent_status: "running", messages: [] });
      const withdrawn = await stage.send(ref, "b");
      const last = await stage.send(ref, "c");
      const queued = await reload(ref);
      expect(queued.history).toMatchObject({ agent_status: "running", running_message_id: null });
      await harness.request("DELETE", `/sessions/${ref.session}/messages/${withdrawn}`);
      const without = await reload(ref);
      await stage.worker([guide]);
      const { id } = await stage.ended(ref, (turn) => turn.message?.id === last);
      const whole = new BlocksClient();
      whole.load(toHistory(await stage.state(ref)));
      for (const [each, questions] of [
        [unpublished, ["a", "b", "c"]],
        [queued, ["a", "b", "c"]],
        [without, ["a", "c"]],
        [await reload(ref), ["a", "c"]],
      ] as const) {
        const client = await continued(each, id);
        expect(client.questions).toEqual(questions);
        expect(answers(client)).toEqual(answers(whole));
      }
    });

    it("H02 H03 the page of 004 shows a waiting message and its answer, whenever the turn starts before it subscribes", async () => {
      const ref = await openWithoutWorker();
      const { stage } = harness;
      await stage.send(ref, "a");
      const waiting = await loadHistory(ref);
      const fresh = new PrintedPage();
      fresh.load(waiting);
      expect(fresh.isStreaming).toBe(true);
      expect(fresh.show()).toEqual(["user a"]);
      const reloads = [{ history: waiting, stream: await subscribe(ref, waiting) }];
      // The turn waits in its tool.
      const gates: (() => void)[] = [];
      toolGate = () => new Promise((resolve) => void gates.push(resolve));
      await stage.worker([guide]);
      await expect.poll(() => gates.length, { timeout: 60_000 }).toBe(1);
      reloads.push({ history: waiting, stream: await subscribe(ref, waiting) }, await reload(ref));
      gates[0]?.();
      toolGate = OPEN;
      const { id } = await stage.ended(ref, (turn) => turn.message?.text === "a");
      reloads.push({ history: waiting, stream: await subscribe(ref, waiting) });
      const answered = [
        "user a",
        'closed group "Looking": thinking hm, Looking -> free beds',
        "text All about a.",
      ];
      for (const { history, stream } of reloads) {
        const page = new PrintedPage();
        page.load(history);
        await stream.until("the end", ({ event, data }) => event === "message_stop" && data.includes(id));
        for (const frame of stream.frames) page.handle(frame);
        expect(page.show()).toEqual(answered);
        stream.disconnect();
      }
      const finished = new PrintedPage();
      finished.load(await loadHistory(ref));
      expect(finished.isStreaming).toBe(false);
      expect(finished.show()).toEqual(answered);
    });

    it("H02 the agent is running while a retry waits for a worker", async () => {
      const ref = await openWithoutWorker();
      const { stage } = harness;
      const worker = await stage.worker([guide]);
      await stage.send(ref, "hang");
      const turn = await stage.until(ref, 40_000, (state) => state.turns.last() ?? null);
      await stage.stop(ref);
      await stage.ended(ref, ({ id }) => id === turn.id);
      await worker.shutdown();
      expect((await reload(ref)).history.agent_status).toBe("idle");
      const retried = await harness.json("POST", `/sessions/${ref.session}/turns/${turn.id}/retry`);
      const { history, stream } = await reload(ref);
      expect(history).toMatchObject({ agent_status: "running", running_message_id: null });
      await stage.worker([guide]);
      expect((await stream.frame("message_start"))["message_id"]).toBe(retried.turn_id);
      await stage.stop(ref);
      await stage.ended(ref, ({ id }) => id === retried.turn_id);
    });

    it("native clients get a snapshot with its cursor, and older turns in pages", async () => {
      const ref = await open();
      const { stage } = harness;
      for (const text of ["a", "b", "c"]) await stage.ask(ref, text);
      await archiveSession(stage.backend, ref);
      await stage.ask(ref, "d");
      const whole = await stage.state(ref);
      const got = await harness.json("GET", `/sessions/${ref.session}/snapshot?turns=2`);
      expect(got).toMatchObject({ session_id: ref.session, event_id: `${whole.epoch}-${whole.seq}` });
      expect(got.snapshot).toEqual(JSON.parse(JSON.stringify(snapshot(whole, 2))));
      await stage.ask(ref, "e");
      const after = (await stage.events(ref)).filter(({ id }) => Number(id.split("-")[1]) > whole.seq);
      const state = foldAll(after, restore(got.snapshot as Snapshot));
      expect(state.turns.toArray().map(({ message }) => message?.text)).toEqual(["c", "d", "e"]);
      const all = await pages(`/sessions/${ref.session}/turns`, 2);
      const turns = JSON.parse(JSON.stringify(snapshot(await stage.state(ref)).turns)) as unknown[];
      expect(all.flatMap((page) => page["turns"])).toEqual(turns);
      for (const turn of [0, 4]) {
        const { id } = (await stage.state(ref)).turns.get(turn) ?? { id: "" };
        expect(await harness.json("GET", `/sessions/${ref.session}/turns/${id}`)).toEqual({
          v: SCHEMA_VERSION,
          turn: turns[turn],
        });
      }
      expect(await harness.requestError("GET", `/sessions/${ref.session}/turns/nothing`)).toBe(
        "404 NOT_FOUND",
      );
    });

    it("H04 a reload shows the approval, which can be decided, and later every group is closed", async () => {
      const ref = await open();
      const { stage } = harness;
      const path = `/sessions/${ref.session}`;
      const message = await stage.send(ref, "book");
      const waiting = (): Promise<{ interactions: { key: string; digest: string }[] }> =>
        harness.json("GET", `${path}/interactions?status=pending`);
      await expect.poll(async () => (await waiting()).interactions.length, { timeout: 60_000 }).toBe(1);
      const history: BlocksHistory = await harness.json("GET", `${path}/history`);
      const [asked] = (await waiting()).interactions;
      expect(history).toMatchObject({
        agent_status: "running",
        pending_approval: { approval_key: asked?.key, status: "pending" },
      });
      expect(history.messages.at(-1)).toMatchObject({ display_type: "group_item" });
      const decide = { decision: "approve", digest: asked?.digest };
      const decided = await harness.json("POST", `${path}/interactions/${asked?.key}/decide`, decide);
      expect(decided.interaction).toMatchObject({ status: "approved", changes: [{ by: stage.actor.user }] });
      await stage.ended(ref, (turn) => turn.message?.id === message);
      const later: BlocksHistory = await harness.json("GET", `${path}/history`);
      expect(later).toMatchObject({ agent_status: "idle", pending_approval: null, pending: [] });
      const places = later.messages.map(({ display_type }) => display_type);
      expect(places.filter((place) => place === "group_end")).toHaveLength(1);
    });

    it("T01 the end state of a turn contains what the model read, for its owner", async () => {
      const ref = await open();
      const { stage, server } = harness;
      const turn = await stage.ask(ref, "a");
      const path = `/sessions/${ref.session}/turns/${turn.id}/end-state`;
      const state = await harness.json("GET", path);
      expect(state.output).toContainEqual(
        expect.objectContaining({ type: "tool_result", content: [{ type: "text", text: "free beds" }] }),
      );
      expect(await harness.requestError("GET", `${path}?task=nothing`)).toBe("404 NOT_FOUND");
      const headers = { ...server.auth, "x-user-id": "else" };
      expect((await harness.request("GET", path, { headers })).status).toBe(404);
    });

    it("stops a turn with a receipt, and retries a failed one", async () => {
      const ref = await open();
      const { stage } = harness;
      const path = `/sessions/${ref.session}`;
      const none = { receipt: "over", turn_id: null };
      expect(await harness.json("POST", `${path}/stop`)).toEqual(none);
      await stage.send(ref, "hang");
      const turn = await stage.until(ref, 40_000, (state) => state.turns.last() ?? null);
      expect(await harness.json("POST", `${path}/turns/else/stop`)).toEqual(none);
      expect(await harness.json("POST", `${path}/turns/${turn.id}/stop`)).toEqual({
        receipt: "stopping",
        turn_id: turn.id,
      });
      const stopped = await stage.ended(ref, ({ id }) => id === turn.id);
      expect(stopped.status).toBe("user_stopped");
      expect(await harness.json("POST", `${path}/stop`)).toEqual(none);

      const failed = await stage.ask(ref, "fail");
      expect(failed.status).toBe("error");
      expect(await harness.requestError("POST", `${path}/turns/${turn.id}/retry`)).toBe("409 CONFLICT");
      const retried = await harness.json("POST", `${path}/turns/${failed.id}/retry`);
      expect(retried.receipt).toBe("retrying");
      const again = await stage.ended(ref, ({ id }) => id === retried.turn_id);
      expect(listBlocks(again).at(-1)).toMatchObject({ kind: "text", text: "now it works" });
      expect(toHistoryMessages([again]).length).toBeGreaterThan(0);
    });

    it("withdraws a queued message once", async () => {
      const ref = await open();
      const { stage } = harness;
      await stage.send(ref, "hang");
      await stage.until(ref, 40_000, (state) => state.turns.last() ?? null);
      const message = await stage.send(ref, "later");
      const path = `/sessions/${ref.session}/messages/${message}`;
      // The snapshot is current. History ends at the handoff point, which can be before the message or between the two.
      const waiting = async () => {
        const now = await harness.json("GET", `/sessions/${ref.session}/snapshot`);
        return restore(now.snapshot as Snapshot).waiting.map(({ id }) => id);
      };
      expect(await waiting()).toEqual([message]);
      expect((await harness.request("DELETE", path)).status).toBe(204);
      expect(await harness.requestError("DELETE", path)).toBe("404 NOT_FOUND");
      expect(await waiting()).toEqual([]);
      await stage.stop(ref);
      await stage.ended(ref, () => true);
    });
  });
}
