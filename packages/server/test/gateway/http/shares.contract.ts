/** The contract of shares over HTTP: forks know their origin, history in every dialect that has one, expiry, lists. */
import { type Snapshot, restore, restoreTurn, type TurnSnapshot } from "@turnstream/protocol";
import { toHistory, toHistoryMessages } from "@turnstream/protocol/blocks";
import { afterEach, describe, expect, it } from "vitest";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import type { HarnessBackend } from "../../engine/turn-harness.ts";
import { StreamClient } from "../clients.ts";
import { GatewayHarness } from "../gateway-harness.ts";

const SECRET = "for-the-model-only";
/** Too large for an event, so it is stored as a blob. */
const PNG = Buffer.alloc(20_000, 7);

const guide = defineAgent({
  name: "guide",
  title: false,
  requestForms: true,
  tools: {
    look: tool({ label: "Looking", run: () => "free beds" }),
    secret_lookup: tool({
      display: { call: false },
      run: () => ({ content: SECRET, blocks: [{ type: "text", text: SECRET }] }),
    }),
    book: tool({ label: "Booking", approval: true, run: () => "booked" }),
    draw: tool({
      label: "Drawing",
      run: () => ({ content: "drawn", blocks: [{ type: "image", data: PNG, mediaType: "image/png" }] }),
    }),
  },
  model: scriptedModel(({ text, step }) => {
    if (text === "hang") return [script.text("One moment"), script.hang()];
    if (text === "book") return [script.toolCall("book")];
    if (text === "draw" && step === 0) return [script.toolCall("draw")];
    if (step > 0) return [script.text(`All about ${text}.`)];
    if (text === "peek") return [script.toolCall("secret_lookup", { note: SECRET })];
    return [script.reasoning("hm"), script.toolCall("look")];
  }),
});

export function sharesContract(name: string, makeParts: () => Promise<HarnessBackend>): void {
  let harness: GatewayHarness;
  const open = async (): Promise<SessionRef> => {
    harness = await GatewayHarness.open(await makeParts());
    await harness.stage.worker([guide]);
    return harness.stage.session();
  };
  const share = (ref: SessionRef, body = {}) => harness.json("POST", `/sessions/${ref.session}/shares`, body);
  const read = async (token: string, query = "") =>
    (await harness.request("GET", `/shares/${token}${query}`, { headers: {} })).json;
  /** Headers of another user of the same tenant. */
  const asReader = () => ({ ...harness.server.auth, "x-user-id": "reader" });
  const fork = async (token: string): Promise<SessionRef> => {
    const request = { headers: asReader(), body: {} };
    const { json, status } = await harness.request("POST", `/shares/${token}/fork`, request);
    expect(status).toBe(201);
    return { tenant: harness.stage.actor.tenant, session: json.session_id };
  };
  /** The `message_start` frames of all turns that a `blocks` client receives. */
  const starts = async (ref: SessionRef, from: string): Promise<Record<string, unknown>[]> => {
    const url = `${harness.server.url}/api/v1/sessions/${ref.session}/events?dialect=blocks&last_event_id=${from}`;
    const stream = await StreamClient.open(url, { headers: asReader() });
    await stream.frame("message_stop");
    stream.disconnect();
    return stream.frames.filter(({ type }) => type === "message_start");
  };

  describe(`shares over HTTP on ${name}`, () => {
    afterEach(() => harness.close());

    it("H07 W17 only the first turn of a fork has is_new_session_from_share", async () => {
      const ref = await open();
      await harness.stage.ask(ref, "a");
      const { token } = await share(ref);
      const mine = await fork(token);
      const reader = harness.stage.as({ ...harness.stage.actor, user: "reader" });
      // Options of the client don't decide it.
      const first = await reader.ask(mine, "b");
      expect(first.from_share).toBe(true);
      expect((await reader.ask(mine, "c")).from_share).toBe(false);
      expect((await harness.stage.ask(ref, "d")).from_share).toBe(false);
      const again = await harness.request("POST", `/sessions/${mine.session}/shares`, {
        headers: asReader(),
        body: {},
      });
      const second = await fork(again.json.token);
      const turns = [await reader.ask(second, "e"), await reader.ask(second, "f")];
      expect(turns.map((turn) => turn.from_share)).toEqual([true, false]);
    });

    it("H07 W02 W17 a blocks client receives the flag in message_start", async () => {
      const ref = await open();
      await harness.stage.ask(ref, "a");
      const mine = await fork((await share(ref)).token);
      const history = (
        await harness.request("GET", `/sessions/${mine.session}/history`, { headers: asReader() })
      ).json;
      const reader = harness.stage.as({ ...harness.stage.actor, user: "reader" });
      await reader.ask(mine, "b");
      expect(await starts(mine, history.last_event_id)).toMatchObject([{ is_new_session_from_share: true }]);
    });

    it("H07 the retry of a fork's first turn keeps the flag, and a copied turn that is retried gets it", async () => {
      const ref = await open();
      const { stage } = harness;
      await stage.send(ref, "hang");
      await stage.until(ref, 60_000, (state) => state.turns.last()?.items.last() ?? null);
      const { token } = await share(ref);
      const reader = stage.as({ ...stage.actor, user: "reader" });
      const mine = await fork(token);
      const copied = (await reader.state(mine)).turns.last();
      expect(copied).toMatchObject({ status: "user_stopped", from_share: false });
      const path = `/sessions/${mine.session}/turns`;
      const retry = async (turn: string): Promise<string> =>
        (await harness.request("POST", `${path}/${turn}/retry`, { headers: asReader(), body: {} })).json
          .turn_id;
      const first = await retry(copied?.id ?? "");
      await reader.until(mine, 60_000, (state) => state.turns.findLast(({ id }) => id === first) ?? null);
      await reader.stop(mine, first);
      expect(await reader.ended(mine, ({ id }) => id === first)).toMatchObject({ from_share: true });
      const second = await retry(first);
      await reader.until(mine, 60_000, (state) => state.turns.findLast(({ id }) => id === second) ?? null);
      await reader.stop(mine, second);
      expect(await reader.ended(mine, ({ id }) => id === second)).toMatchObject({ from_share: true });
      await stage.stop(ref);
    });

    it("H07 a share has pages of history in the native and the blocks dialect, with the same turns", async () => {
      const ref = await open();
      for (const text of ["a", "b", "c", "d", "e"]) await harness.stage.ask(ref, text);
      const { token, event_id } = await share(ref);
      const shown = await harness.stage.state(ref);
      await harness.stage.ask(ref, "later");
      const messages = JSON.parse(JSON.stringify(toHistoryMessages(shown.turns.toArray())));
      for (const limit of [1, 2, 5, 50]) {
        const blocks: unknown[] = [];
        const native: unknown[] = [];
        for (let before = ""; ;) {
          const page = await read(token, `?dialect=blocks&limit=${limit}${before}`);
          blocks.unshift(...page.messages);
          const turns = await read(token, `?limit=${limit}${before}`);
          const list = (turns.turns ?? turns.snapshot.turns) as TurnSnapshot[];
          native.unshift(...list.map((turn) => restoreTurn(turn).id));
          expect(turns.next_before).toBe(page.next_before);
          if (before === "") {
            expect(page).toMatchObject({ agent_status: "idle", pending: [], last_event_id: event_id });
            expect(turns).toMatchObject({ event_id, snapshot: { earlier: Math.max(0, 5 - limit) } });
          } else expect(Object.keys(page).toSorted()).toEqual(["has_more", "messages", "next_before"]);
          if (page.next_before === null) break;
          before = `&before=${page.next_before}`;
        }
        expect(blocks).toEqual(messages);
        expect(native).toEqual(shown.turns.toArray().map(({ id }) => id));
      }
      for (const bad of ["tasks", "responses", "x"])
        expect(await harness.requestError("GET", `/shares/${token}?dialect=${bad}`)).toBe("400 BAD_REQUEST");
      for (const bad of ["turns=5", "limit=51", "limit=0", "before=x"])
        expect(await harness.requestError("GET", `/shares/${token}?${bad}`)).toBe("400 BAD_REQUEST");
    });

    it("H07 a share shows no hidden content, in no dialect", async () => {
      const ref = await open();
      const turn = await harness.stage.ask(ref, "peek");
      expect(JSON.stringify(turn.items.toArray())).toContain(SECRET);
      const { token } = await share(ref);
      for (const query of ["", "?dialect=blocks"]) {
        const { text, status } = await harness.request("GET", `/shares/${token}${query}`, { headers: {} });
        expect(status).toBe(200);
        expect(text).toContain("All about peek.");
        expect(text).not.toContain(SECRET);
        expect(text).not.toContain("secret_lookup");
        expect(text).not.toContain(harness.stage.actor.user);
      }
    });

    it("H07 a link reveals neither tenant nor session, and its files load only while it is open", async () => {
      const ref = await open();
      const { stage, server } = harness;
      await stage.send(ref, "book");
      await stage.until(ref, 60_000, (state) =>
        (state.turns.last()?.items.toArray() ?? []).some((item) => item?.kind === "approval") ? true : null,
      );
      await stage.stop(ref);
      await stage.ask(ref, "draw");
      const [made, other] = [await share(ref), await share(ref)];
      expect((await read(made.token)).snapshot).toMatchObject({ session: "shared", number: 0 });
      const blobs: string[] = [];
      for (const { token } of [made, other])
        for (const query of ["", "?dialect=blocks"]) {
          const { text } = await harness.request("GET", `/shares/${token}${query}`, { headers: {} });
          const found = [...text.matchAll(/[/]api[/]v1([/]blobs[/]([\w-]+)[.][\w-]+)/g)];
          // The history of `blocks` has no images of tools.
          expect(found.length > 0).toBe(query === "");
          const decoded = found.map(([, , signed = ""]) => Buffer.from(signed, "base64url").toString());
          for (const shown of [text, ...decoded]) {
            expect(shown).not.toContain(ref.session);
            expect(shown).not.toContain(ref.tenant);
          }
          blobs.push(...found.map(([, path = ""]) => path).slice(0, 1));
        }
      const load = async (path: string, headers = {}) =>
        fetch(`${server.url}/api/v1${path}`, { headers: { ...headers } });
      const opened = await load(blobs[0] ?? "");
      expect([opened.status, opened.headers.get("cache-control")]).toEqual([200, "private, no-cache"]);
      const etag = { "if-none-match": opened.headers.get("etag") ?? "" };
      expect((await load(blobs[0] ?? "", etag)).status).toBe(304);
      await harness.request("DELETE", `/sessions/${ref.session}/shares/${made.share_id}`);
      // At once, and only for the link that was closed.
      const statuses = await Promise.all(blobs.map(async (path) => (await load(path, etag)).status));
      expect(statuses).toEqual([404, 304]);
    });

    it("H07 a turn that runs and an approval that waits are closed for readers", async () => {
      const ref = await open();
      const { stage } = harness;
      await stage.send(ref, "book");
      await stage.until(ref, 60_000, (state) =>
        (state.turns.last()?.items.toArray() ?? []).some((item) => item?.kind === "approval") ? true : null,
      );
      const { token } = await share(ref);
      const native = restore((await read(token)).snapshot as Snapshot);
      expect(native.turns.last()?.status).toBe("user_stopped");
      expect(toHistory(native)).toMatchObject({ agent_status: "idle", pending_approval: null, pending: [] });
      const history = await read(token, "?dialect=blocks");
      expect(history).toMatchObject({
        agent_status: "idle",
        pending_approval: null,
        pending: [],
      });
      expect((await stage.state(ref)).turns.last()?.status).toBe("running");
      await stage.stop(ref);
    });

    it("H07 a share expires by the server's clock, and then can be neither read nor forked", async () => {
      const ref = await open();
      const made = await share(ref, { expires_in_seconds: 1 });
      const forever = await share(ref);
      expect(made.expires_at - made.created_at).toBeGreaterThanOrEqual(1_000);
      expect(forever.expires_at).toBeNull();
      await expect
        .poll(async () => (await harness.request("GET", `/shares/${made.token}`, { headers: {} })).status, {
          timeout: 60_000,
        })
        .toBe(404);
      const request = { headers: asReader(), body: {} };
      expect((await harness.request("POST", `/shares/${made.token}/fork`, request)).status).toBe(404);
      expect((await harness.json("GET", "/shares")).shares).toMatchObject([{ share_id: forever.share_id }]);
      for (const expires_in_seconds of [0, -1, 1.5, 31_622_401, "1"])
        expect(
          await harness.requestError("POST", `/sessions/${ref.session}/shares`, { expires_in_seconds }),
        ).toBe("400 BAD_REQUEST");
    });

    it("H07 users list their own shares only, in pages", async () => {
      const ref = await open();
      const other = await harness.stage.session();
      const made: string[] = [];
      for (let n = 0; n < 5; n++) made.unshift((await share(n % 2 === 0 ? ref : other)).share_id);
      const first = await harness.json("GET", "/shares?limit=3");
      const rest = await harness.json("GET", `/shares?limit=3&before=${first.next_before}`);
      const ids = [...first.shares, ...rest.shares].map(({ share_id }): string => share_id);
      expect(new Set(ids)).toEqual(new Set(made));
      expect(ids).toHaveLength(made.length);
      expect(rest.next_before).toBeNull();
      const ofOther = await harness.json("GET", `/shares?session=${other.session}`);
      expect(ofOther.shares).toHaveLength(2);
      for (const { session_id } of ofOther.shares) expect(session_id).toBe(other.session);
      for (const path of ["/shares", `/shares?session=${ref.session}`]) {
        const { json } = await harness.request("GET", path, { headers: asReader() });
        expect(json).toEqual({ shares: [], next_before: null });
      }
      for (const bad of ["limit=0", "limit=101", "before=%3F", "session=", "other=1"])
        expect(await harness.requestError("GET", `/shares?${bad}`)).toBe("400 BAD_REQUEST");
    });

    it("H07 a user can revoke every share of a session, also the oldest of a thousand and one", async () => {
      const ref = await open();
      const { share_id, token } = await share(ref);
      const { shares } = harness.stage.backend.store;
      for (let n = 0; n < 1_000; n++) await shares.create(harness.stage.actor, ref.session);
      const other = await harness.stage.session();
      const status = async (path: string, headers = harness.server.auth) =>
        (await harness.request("DELETE", path, { headers })).status;
      // Neither through another session nor by another user.
      expect(await status(`/sessions/${other.session}/shares/${share_id}`)).toBe(404);
      expect(await status(`/sessions/${ref.session}/shares/${share_id}`, asReader())).toBe(404);
      expect((await harness.request("GET", `/shares/${token}`, { headers: {} })).status).toBe(200);
      expect(await status(`/sessions/${ref.session}/shares/${share_id}`)).toBe(204);
      expect((await harness.request("GET", `/shares/${token}`, { headers: {} })).status).toBe(404);
    });
  });
}
