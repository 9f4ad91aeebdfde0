/**
 * The contract of two tenants that use the same session ids (findings T06 and R02 to R04): both work, independently, in
 * requests, streams, shares, forks and erasures. No id and no number reveals anything about the other tenant.
 */
import { afterEach, describe, expect, it } from "vitest";
import { script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import { finishErasures } from "../../src/session/lifecycle/erase.ts";
import type { HarnessBackend } from "../engine/turn-harness.ts";
import { SocketClient } from "./clients.ts";
import { GatewayHarness } from "./gateway-harness.ts";
import type { TestResponse } from "./test-server.ts";

const ID = "ticket-1234";

const echo = defineAgent({
  name: "echo",
  title: false,
  model: scriptedModel(({ text }) => [script.text(`echo of ${text}`)]),
});

interface Side {
  readonly tenant: string;
  /** Part of everything that this tenant sends. */
  readonly canary: string;
  readonly auth: Readonly<Record<string, string>>;
  ask(method: string, path: string, body?: unknown): Promise<TestResponse>;
}

const create = (side: Side) => side.ask("POST", "/sessions", { session_id: ID, title: side.canary });
const send = (side: Side, text = `${side.canary} speaks`) =>
  side.ask("POST", `/sessions/${ID}/messages`, { text, stream: false });

export function equalIdsContract(name: string, makeParts: () => Promise<HarnessBackend>): void {
  let harness: GatewayHarness;

  async function openSide(canary: string): Promise<Side> {
    const tenant = `tenant-${canary}`;
    const { store } = harness.stage.backend;
    await store.tenants.create({ id: tenant, name: "Test" });
    const { secret } = await store.keys.create(tenant, { name: "test", scopes: [] });
    const auth = { "x-api-key": secret, "x-user-id": "an" };
    return {
      tenant,
      canary,
      auth,
      ask: (method, path, body) =>
        harness.request(method, path, { headers: auth, ...(body === undefined ? {} : { body }) }),
    };
  }

  async function open(): Promise<readonly [Side, Side]> {
    harness = await GatewayHarness.open(await makeParts());
    await harness.stage.worker([echo]);
    return [await openSide("acmecanary"), await openSide("evilcanary")];
  }

  afterEach(() => harness.close());

  describe(`two tenants with equal ids on ${name}`, () => {
    it("each creates the same id, and counts its own sessions", async () => {
      const [acme, evil] = await open();
      for (const side of [evil, acme])
        expect(await create(side)).toMatchObject({ status: 201, json: { session_id: ID, chat_id: 1 } });
      for (let n = 2; n < 5; n++)
        expect((await evil.ask("POST", "/sessions", {})).json).toMatchObject({ chat_id: n });
      expect((await acme.ask("POST", "/sessions", {})).json).toMatchObject({ chat_id: 2 });
      for (const side of [evil, acme]) {
        expect((await side.ask("GET", "/chats/1")).json).toMatchObject({
          session_id: ID,
          title: side.canary,
        });
        expect((await create(side)).status).toBe(201);
      }
      expect((await acme.ask("GET", "/chats/4")).status).toBe(404);
      // Another user of the same tenant gets the conflict, and learns nothing else.
      const other = { headers: { ...acme.auth, "x-user-id": "binh" }, body: { session_id: ID } };
      expect((await harness.request("POST", "/sessions", other)).status).toBe(409);
    });

    it("messages, streams, shares and forks of one never show content of the other", async () => {
      const [acme, evil] = await open();
      const seen: Record<string, string> = {};
      const sockets: SocketClient[] = [];
      for (const side of [acme, evil]) {
        await create(side);
        const socket = await SocketClient.open({ url: harness.server.url, auth: side.auth });
        await socket.request({ type: "subscribe", session_id: ID });
        sockets.push(socket);
      }
      await Promise.all([acme, evil].map((side) => send(side)));
      for (const [n, side] of [acme, evil].entries()) {
        const socket = sockets[n] as SocketClient;
        await socket.until("the end", (frame) => frame["type"] === "message_stop");
        const share = (await side.ask("POST", `/sessions/${ID}/shares`, {})).json;
        const shared = await harness.request("GET", `/shares/${share.token}`, { headers: {} });
        const fork = (await side.ask("POST", `/shares/${share.token}/fork`, {})).json;
        const copy = await side.ask("GET", `/sessions/${fork.session_id}/history`);
        const history = await side.ask("GET", `/sessions/${ID}/history`);
        seen[side.canary] = JSON.stringify(socket.frames) + shared.text + copy.text + history.text;
        expect(seen[side.canary]?.split(`echo of ${side.canary}`).length).toBeGreaterThan(3);
        // The link of one is not a share of the other's session.
        const path = `/sessions/${ID}/shares/${share.share_id}`;
        expect((await (side === acme ? evil : acme).ask("DELETE", path)).status).toBe(404);
        socket.close();
      }
      expect(seen[acme.canary]).not.toContain(evil.canary);
      expect(seen[evil.canary]).not.toContain(acme.canary);
    });

    it("erasing the session of one leaves store, log and readers of the other as they are", async () => {
      const [acme, evil] = await open();
      const { backend } = harness.stage;
      for (const side of [acme, evil]) {
        await create(side);
        await send(side);
      }
      const refs = [acme, evil].map(({ tenant }) => ({ tenant, session: ID }));
      const [other, erased] = refs as [(typeof refs)[0], (typeof refs)[0]];
      const before = await harness.stage.events(other);
      const socket = await SocketClient.open({ url: harness.server.url, auth: acme.auth });
      await socket.request({ type: "subscribe", session_id: ID });
      expect((await evil.ask("DELETE", `/sessions/${ID}`)).status).toBe(204);
      await finishErasures(backend, { graceMs: 0 });
      expect(await backend.log.head(erased)).toBeNull();
      expect(await backend.log.head(other)).not.toBeNull();
      expect(await harness.stage.events(other)).toEqual(before);
      expect((await send(acme, "acmecanary again")).json).toMatchObject({ status: "completed" });
      await socket.until("the next turn", (frame) => JSON.stringify(frame).includes("acmecanary again"));
      socket.close();
      // The id is free again for its tenant, and empty.
      expect((await create(evil)).json).toMatchObject({ session_id: ID });
      expect((await evil.ask("GET", `/sessions/${ID}/history`)).text).not.toContain("canary speaks");
    });

    it("R04 refuses ids that a URL path can't contain", async () => {
      const [acme] = await open();
      for (const id of [".", "..", "12"]) {
        const { status, json } = await acme.ask("POST", "/sessions", { session_id: id });
        expect([status, json.message]).toEqual([
          400,
          expect.stringContaining("not only digits, and not . or .."),
        ]);
      }
      for (const user of [".", ".."]) {
        const headers = { ...acme.auth, "x-user-id": user };
        expect(await harness.request("GET", "/sessions", { headers })).toMatchObject({ status: 400 });
        expect((await acme.ask("POST", "/tokens", { user_id: user })).status).toBe(400);
      }
      // A mail address is a legal id, and works on every path.
      const made = await acme.ask("POST", "/sessions", { session_id: "an@example.com" });
      expect(made.status).toBe(201);
      expect((await acme.ask("DELETE", "/sessions/an@example.com")).status).toBe(204);
    });
  });
}
