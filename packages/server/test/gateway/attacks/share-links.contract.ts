/**
 * The contract of attackers who have a share link: it shows what was shared and nothing
 * else, it is no other credential, and nothing opens it again once it is closed or its session is erased.
 */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import type { HarnessBackend } from "../../engine/turn-harness.ts";
import { GatewayHarness } from "../gateway-harness.ts";
import type { TestRequest } from "../test-server.ts";

const IN_FORM = "canary-of-the-form";
const LATER = "canary-of-later";
/** Too large for an event, so it is stored as a blob. */
const PNG = Buffer.alloc(20_000, 7);
const FORM = {
  title: "Contact",
  fields: [{ name: "email", label: "E-mail", type: "text", required: true }],
} as const;

const guide = defineAgent({
  name: "guide",
  title: false,
  requestForms: true,
  tools: {
    draw: tool({
      label: "Drawing",
      run: () => ({ content: "drawn", blocks: [{ type: "image", data: PNG, mediaType: "image/png" }] }),
    }),
  },
  model: scriptedModel(({ text, step }) => {
    if (step === 0 && text === "draw") return [script.toolCall("draw")];
    if (step === 0 && text === "form") return [script.toolCall("request_form", FORM)];
    return [script.text("Thanks.")];
  }),
});

interface Link {
  readonly share_id: string;
  readonly token: string;
}

export function shareLinksContract(name: string, makeParts: () => Promise<HarnessBackend>): void {
  describe(`an attacker with a share link, on ${name}`, () => {
    let harness: GatewayHarness;
    let session: string;
    let link: Link;
    /** The token of an image in the shared session. */
    let blob: string;
    let reader: Readonly<Record<string, string>>;
    let foreign: Readonly<Record<string, string>>;

    beforeAll(async () => {
      const parts = await makeParts();
      harness = await GatewayHarness.open(parts);
      const { stage } = harness;
      await stage.worker([guide]);
      const ref = await stage.session();
      session = ref.session;
      await stage.ask(ref, "draw");
      await stage.ask(ref, "form");
      const [form] = await parts.store.interactions.list(ref, { pending: true, limit: 1 });
      const path = `/sessions/${session}/interactions/${form?.key}/submit`;
      await harness.json("POST", path, { values: { email: IN_FORM } });
      await stage.ended(ref, ({ number }) => number === 3);
      link = await share();
      blob = await findBlob(link);
      await stage.ask(ref, LATER);
      reader = { ...harness.server.auth, "x-user-id": "reader" };
      await parts.store.tenants.create({ id: "other", name: "Other" });
      const { secret } = await parts.store.keys.create("other", { name: "k", scopes: [] });
      foreign = { "x-api-key": secret, "x-user-id": stage.actor.user };
    });
    afterAll(() => harness.close());

    const share = (): Promise<Link> => harness.json("POST", `/sessions/${session}/shares`, {});
    const status = async (method: string, path: string, request: TestRequest = { headers: {} }) =>
      (await harness.server.request(method, path, request)).status;
    const read = ({ token }: Link) => status("GET", `/shares/${token}`);
    const revoke = ({ share_id }: Link) => status("DELETE", `/sessions/${session}/shares/${share_id}`, {});
    async function findBlob({ token }: Link): Promise<string> {
      const { text } = await harness.request("GET", `/shares/${token}`, { headers: {} });
      const [, found] = /\/api\/v1\/blobs\/([\w.-]+)/.exec(text) ?? [];
      if (found === undefined) throw new Error("the link shows no image");
      return found;
    }
    /** @returns the status of the response that refuses the socket, or 101 */
    async function openSocket(query: string): Promise<number> {
      const address = `${harness.server.url.replace("http", "ws")}/api/v1/socket?${query}`;
      const socket = new WebSocket(address, { headers: { origin: harness.server.url } });
      socket.on("error", () => undefined);
      const refused = once(socket, "unexpected-response") as Promise<[unknown, IncomingMessage]>;
      const opened = once(socket, "open").then(() => 101);
      opened.catch(() => undefined);
      const result = await Promise.race([refused.then(([, { statusCode = 0 }]) => statusCode), opened]);
      socket.terminate();
      return result;
    }

    test("sees nothing of later turns, no form values, and nothing of the owner, also in a fork", async () => {
      const { actor } = harness.stage;
      const body = { headers: reader, body: {} };
      const { json: fork } = await harness.request("POST", `/shares/${link.token}/fork`, body);
      const { turns } = (
        await harness.request("GET", `/sessions/${fork.session_id}/turns`, { headers: reader })
      ).json;
      const ofFork = ["", "/history", "/snapshot", "/turns", "/interactions", "/allowances"];
      const states = turns.map(({ id }: { readonly id: string }) => `/turns/${id}/end-state`);
      const texts = [];
      for (const path of [...ofFork, ...states])
        texts.push(await harness.request("GET", `/sessions/${fork.session_id}${path}`, { headers: reader }));
      for (const query of ["", "?dialect=blocks"])
        texts.push(await harness.request("GET", `/shares/${link.token}${query}`, { headers: {} }));
      expect(texts.length).toBeGreaterThan(9);
      for (const { status: code, text } of texts) {
        expect(code, text).toBe(200);
        for (const secret of [IN_FORM, LATER, actor.user, session]) expect(text).not.toContain(secret);
      }
    });

    test("changes nothing with the link alone", async () => {
      const { token, share_id } = link;
      const attempts = [
        ["POST", `/shares/${token}`],
        ["DELETE", `/shares/${token}`],
        ["PATCH", `/shares/${token}`],
        ["PUT", `/shares/${token}`],
        ["POST", `/shares/${token}/messages`],
        ["POST", `/shares/${token}/fork`],
        ["GET", `/shares/${token}/events`],
        ["GET", `/shares/${share_id}`],
        ["GET", `/sessions/${token}`],
        ["DELETE", `/sessions/${session}/shares/${share_id}`],
      ] as const;
      for (const [method, path] of attempts) {
        const body = method === "GET" ? {} : { body: { title: "owned", text: "owned" } };
        expect([401, 404, 405], `${method} ${path}`).toContain(
          await status(method, path, { headers: {}, ...body }),
        );
      }
      expect(await read(link)).toBe(200);
    });

    test("uses the link as no other credential, and the token of an image as no link", async () => {
      const { token } = link;
      const headers: Record<string, string>[] = [
        { authorization: `Bearer ${token}` },
        { "x-api-key": token },
        { "x-api-key": token, "x-user-id": harness.stage.actor.user },
      ];
      for (const one of headers) expect(await status("GET", "/sessions", { headers: one })).toBe(401);
      expect(await status("GET", `/blobs/${token}`)).toBe(400);
      expect(await status("GET", `/payments/checkout/${token}`)).toBe(404);
      expect(await status("GET", `/shares/${blob}`)).toBe(404);
      const ticket = `ticket=${encodeURIComponent(token)}`;
      expect(await status("GET", `/sessions/${session}/events?${ticket}`)).toBe(401);
      expect(await openSocket(ticket)).toBe(401);
    });

    test("forks within the tenant only, and not after the link was closed", async () => {
      const opened = await share();
      const path = `/shares/${opened.token}/fork`;
      const fork = (headers: Readonly<Record<string, string>>) =>
        harness.request("POST", path, { headers, body: {} });
      expect((await fork(foreign)).status).toBe(404);
      const own = await fork(reader);
      expect(own.status).toBe(201);
      // Neither the owner of a fork nor another tenant closes the link.
      for (const [headers, of] of [
        [reader, own.json.session_id],
        [reader, session],
        [foreign, session],
      ])
        expect(await status("DELETE", `/sessions/${of}/shares/${opened.share_id}`, { headers })).toBe(404);
      expect(await read(opened)).toBe(200);
      expect(await revoke(opened)).toBe(204);
      expect(await read(opened)).toBe(404);
      expect((await fork(reader)).status).toBe(404);
    });

    test("gets no open link from a repeated request that created a closed one", async () => {
      const headers = { ...harness.server.auth, "idempotency-key": "share-once" };
      const create = () => harness.request("POST", `/sessions/${session}/shares`, { headers, body: {} });
      const first = await create();
      expect(await read(first.json)).toBe(200);
      expect(await revoke(first.json)).toBe(204);
      const repeated = await create();
      expect(repeated.json.share_id).toBe(first.json.share_id);
      expect(await read(repeated.json)).toBe(404);
    });

    test("opens nothing with a changed token", async () => {
      const other = await share();
      const [id = "", signature = ""] = link.token.split(".");
      const last = signature.endsWith("A") ? "B" : "A";
      for (const token of [
        `${other.token.split(".")[0]}.${signature}`,
        `${Buffer.from(`${link.share_id}x`).toString("base64url")}.${signature}`,
        `${id}.${"A".repeat(43)}`,
        `${id}.`,
        `${id}.${signature}=`,
        `${id}.${signature.slice(0, -1)}${last}`,
        `${id}.${signature}.${signature}`,
        `${id}%00.${signature}`,
        `${id}%20.${signature}`,
        id,
        `.${signature}`,
        ".",
      ])
        expect([400, 404], token).toContain(await read({ ...link, token }));
    });

    test("finds nothing of an erased session, also if its id is used again", async () => {
      expect([await read(link), await status("GET", `/blobs/${blob}`)]).toEqual([200, 200]);
      expect(await status("DELETE", `/sessions/${session}`, {})).toBe(204);
      const isClosed = async () => {
        expect(await read(link)).toBe(404);
        expect(await status("GET", `/blobs/${blob}`)).toBe(404);
        expect(await status("POST", `/shares/${link.token}/fork`, { headers: reader, body: {} })).toBe(404);
      };
      await isClosed();
      const body = { session_id: session };
      const made = await harness.request("POST", "/sessions", { headers: foreign, body });
      expect(made.status).toBe(201);
      const history = await harness.request("GET", `/sessions/${session}/history`, { headers: foreign });
      expect(history.json.messages).toEqual([]);
      await isClosed();
    });
  });
}
