/** The contract of interactions, allowances, blobs, files and memories over HTTP. */
import { isOnNode } from "../mount.ts";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import type { HarnessBackend } from "../../engine/turn-harness.ts";
import { requestInteraction, createTestSession } from "../pending-interactions.ts";
import { GatewayHarness } from "../gateway-harness.ts";

export function resourcesContract(name: string, makeParts: () => Promise<HarnessBackend>): void {
  describe(`resources over HTTP on ${name}`, () => {
    let harness: GatewayHarness;
    let parts: HarnessBackend;
    let ref: SessionRef;
    let path: string;
    beforeEach(async () => {
      parts = await makeParts();
      const limits = { maxUploadBytes: 3_000_000, maxSessionUploadBytes: 4_000_000 };
      harness = await GatewayHarness.open(parts, { limits });
      ref = await createTestSession(parts, harness.stage.actor);
      path = `/sessions/${ref.session}`;
    });
    afterEach(() => harness.close());
    const at = (key: string, verb: string) => `${path}/interactions/${key}${verb === "" ? "" : `/${verb}`}`;

    it("W13 decides an approval once, by a user who saw the request", async () => {
      const key = await requestInteraction(parts, ref, "approval", { digest: "sha256:1" });
      const decide = { decision: "approve", always: true, digest: "sha256:1" };
      const mismatch = { ...decide, digest: "sha256:2" };
      expect(await harness.requestError("POST", at(key, "decide"), mismatch)).toBe(
        "409 INTERACTION_MISMATCH",
      );
      expect(await harness.requestError("POST", at(key, "decide"), { decision: "edit" })).toBe(
        "400 BAD_REQUEST",
      );
      expect(await harness.requestError("POST", at(key, "answer"), { answers: [] })).toBe("400 BAD_REQUEST");
      expect(await harness.requestError("POST", at(key, "submit"), { values: {} })).toBe("404 NOT_FOUND");
      expect((await harness.json("POST", at(key, "decide"), decide)).interaction).toMatchObject({
        key,
        status: "approved",
        version: 1,
      });
      expect(await harness.requestError("POST", at(key, "decide"), decide)).toBe("409 INTERACTION_CLOSED");
      expect((await harness.json("GET", at(key, ""))).interaction.changes).toMatchObject([
        { status: "approved", by: harness.stage.actor.user },
      ]);
      expect(await harness.requestError("GET", at("nothing", ""))).toBe("404 NOT_FOUND");

      const { allowances } = await harness.json("GET", `${path}/allowances`);
      expect(allowances).toMatchObject([{ agent: "broker", tool: "trade", by: harness.stage.actor.user }]);
      expect((await harness.request("DELETE", `${path}/allowances/broker/trade`)).status).toBe(204);
      expect(await harness.requestError("DELETE", `${path}/allowances/broker/trade`)).toBe("404 NOT_FOUND");
    });

    it("S12 lists agents, and refuses a message for an unknown one with 10006", async () => {
      const id = "550e8400-e29b-41d4-a716-446655440000";
      expect(await harness.json("GET", "/agents")).toEqual({ agents: [] });
      await parts.store.agents.register([
        { name: "market", label: "Markets", description: "Prices", inputs: ["text", "file", "image"] },
        { name: id, label: "", description: "", inputs: ["text"] },
      ]);
      expect(await harness.json("GET", "/agents")).toEqual({
        agents: [
          { agent_id: id, label: "", description: "", inputs: ["text"] },
          { agent_id: "market", label: "Markets", description: "Prices", inputs: ["text", "file", "image"] },
        ],
      });
      const refused = await harness.request("POST", `/chats/${ref.session}/messages`, {
        body: { message: "hello", agent_id: "stock" },
      });
      expect([refused.status, refused.json]).toEqual([
        400,
        {
          error: "BAD_REQUEST",
          code: 10006,
          can_retry: false,
          message: `agent_id must be the name of a registered agent (${id}, market), got "stock"`,
        },
      ]);
      expect(await parts.store.queuedMessages.list(ref)).toEqual([]);
    });

    it("refuses unknown and repeated query parameters on every route", async () => {
      for (const query of ["?limit=1", "?include_tool_tags=true", "?a=1"])
        expect(await harness.requestError("GET", `/agents${query}`)).toBe("400 BAD_REQUEST");
      const message = `${path}/messages`;
      for (const query of [
        "?include_tool_tags=yes",
        "?stream=true",
        "?include_tool_tags=true&include_tool_tags=true",
      ])
        expect(await harness.requestError("POST", `${message}${query}`, { message: "x" })).toBe(
          "400 BAD_REQUEST",
        );
      expect(await harness.requestError("DELETE", `${path}?force=true`)).toBe("400 BAD_REQUEST");
      expect((await harness.request("GET", path)).status).toBe(200);
      expect(await parts.store.queuedMessages.list(ref)).toEqual([]);
    });

    it("S05 accepts include_tool_tags in the body and as a query parameter", async () => {
      const text = "Open <tool id='1'>hours</tool>now";
      const model = scriptedModel(() => [script.text(text)]);
      await harness.stage.worker([defineAgent({ name: "tags", model, title: false })]);
      const finalText = async (query: string, body: object) =>
        (await harness.json("POST", `${path}/messages${query}`, { text: "hi", ...body })).final_text;
      expect(await finalText("", {})).toBe("Open now");
      expect(await finalText("?include_tool_tags=false", {})).toBe("Open now");
      // `final_text` never has tags, so only the deltas of a stream show the option.
      for (const [query, body] of [
        ["?include_tool_tags=true", {}],
        ["", { include_tool_tags: true }],
      ] as const) {
        const streamed = { text: "hi", stream: true, ...body };
        const answer = await harness.request("POST", `${path}/messages${query}`, { body: streamed });
        expect(answer.text).toContain("hours");
      }
    });

    it("lists pending interactions in pages, the oldest first", async () => {
      const keys = [];
      for (let n = 0; n < 5; n++) keys.push(await requestInteraction(parts, ref, "question"));
      await harness.json("POST", at(keys[1] ?? "", "dismiss"), { reason: "later" });
      const answers = [{ question: "meal", selected: ["dinner"] }];
      await harness.json("POST", at(keys[3] ?? "", "answer"), { answers });
      const seen: string[] = [];
      for (let after = ""; ;) {
        const page = await harness.json("GET", `${path}/interactions?status=pending&limit=2${after}`);
        seen.push(...page.interactions.map((one: { key: string }) => one.key));
        if (page.next_after === null) break;
        after = `&after=${page.next_after}`;
      }
      expect(seen).toEqual([keys[0], keys[2], keys[4]]);
      const { interactions } = await harness.json("GET", `${path}/interactions`);
      expect(interactions.map((one: { status: string }) => one.status)).toEqual([
        "pending",
        "dismissed",
        "pending",
        "answered",
        "pending",
      ]);
      expect(await harness.requestError("GET", `${path}/interactions?status=all`)).toBe("400 BAD_REQUEST");
    });

    it("S07 saves a form as a draft, submits or declines it, and starts the next turn unless `go_on` is false", async () => {
      const form = await requestInteraction(parts, ref, "form");
      expect(await harness.json("GET", at(form, "draft"))).toEqual({ draft: null });
      const values = { email: "a@x.test" };
      expect((await harness.json("PUT", at(form, "draft"), { values })).draft).toMatchObject({
        values,
        version: 1,
      });
      expect((await harness.json("GET", at(form, "draft"))).draft.values).toEqual(values);
      const bad = await harness.request("POST", at(form, "submit"), { body: { values: {} } });
      expect(bad.json).toMatchObject({ error: "BAD_REQUEST", message: expect.stringContaining("email") });
      const submitted = await harness.json("POST", at(form, "submit"), { values, go_on: false });
      expect(submitted.interaction).toMatchObject({ status: "submitted", changes: [{ body: { values } }] });
      expect(await parts.store.queuedMessages.list(ref)).toEqual([]);
      expect(await harness.requestError("PUT", at(form, "draft"), { values })).toBe("409 CONFLICT");
      expect(await harness.requestError("POST", at(form, "decline"), {})).toBe("409 INTERACTION_CLOSED");
      const other = await requestInteraction(parts, ref, "form");
      await harness.json("POST", at(other, "decline"), { reason: "no" });
      expect(await parts.store.queuedMessages.list(ref)).toMatchObject([{ resumes: other }]);
    });

    it("serves a blob from the URL in a snapshot, without a key and never executable", async () => {
      const { stage, server } = harness;
      const text = `<script>alert(1)</script>${"x".repeat(100_000)}`;
      await stage.send(ref, text);
      const { snapshot } = await harness.json("GET", `${path}/snapshot`);
      const { url } = snapshot.waiting[0].whole;
      expect(url).toMatch(/^\/api\/v1\/blobs\//);
      const load = (address: string, headers: Record<string, string> = {}) =>
        fetch(`${server.url}${address}`, { headers });
      const loaded = await load(url);
      expect(await loaded.text()).toBe(text);
      expect(Object.fromEntries(loaded.headers)).toMatchObject({
        "content-type": "text/plain; charset=utf-8",
        "x-content-type-options": "nosniff",
        "content-security-policy": "default-src 'none'; sandbox",
        "cache-control": expect.stringMatching(/^private, max-age=\d+, immutable$/),
      });
      const again = await load(url, { "if-none-match": `W/"else", ${loaded.headers.get("etag")}` });
      expect([again.status, await again.text()]).toEqual([304, ""]);
      expect((await load(url, { "if-none-match": `"else"` })).status).toBe(200);
      const forged = await harness.request("GET", `/blobs/${url.slice("/api/v1/blobs/".length)}x`, {
        headers: {},
      });
      expect(forged.json.error).toBe("BAD_REQUEST");
      await parts.store.sessions.remove(ref);
      expect((await load(url)).status).toBe(404);
    });

    it.runIf(isOnNode)("accepts a file as a stream, returns it unchanged, and enforces limits", async () => {
      const { server } = harness;
      const bytes = Buffer.alloc(2_500_000, "ab\r\n\0é");
      const put = async (
        body: Uint8Array<ArrayBuffer>,
        headers: Record<string, string> = {},
        called = 'a "b"é\r\n.html',
      ) => {
        const address = `${server.url}/api/v1${path}/files?name=${encodeURIComponent(called)}`;
        const init = {
          method: "POST",
          headers: { ...server.auth, ...headers },
          body: new Blob([body]),
        };
        const response = await fetch(address, init);
        return { status: response.status, json: (await response.json()) as Record<string, unknown> };
      };
      const sent = await put(bytes, { "content-type": "text/html", "idempotency-key": "one" });
      expect(sent).toMatchObject({ status: 201, json: { size: bytes.length, media_type: "text/html" } });
      // A repeated upload is the same file.
      expect((await put(bytes, { "content-type": "text/html", "idempotency-key": "one" })).json).toEqual(
        sent.json,
      );
      const got = await fetch(`${server.url}/api/v1${path}/files/${String(sent.json["id"])}`, {
        headers: server.auth,
      });
      expect(digest(await got.bytes())).toBe(digest(bytes));
      expect(Object.fromEntries(got.headers)).toMatchObject({
        "content-type": "application/octet-stream",
        "content-disposition": `attachment; filename="download"; filename*=UTF-8''a%20%22b%22%C3%A9%0D%0A.html`,
        "content-security-policy": "default-src 'none'; sandbox",
      });
      // The limits of one file and of all files of the session.
      expect((await put(Buffer.alloc(3_000_001))).json["error"]).toBe("TOO_LARGE");
      expect((await put(bytes)).json["error"]).toBe("TOO_LARGE");
      expect((await put(Buffer.from("small"))).status).toBe(201);
      expect(await harness.requestError("POST", `${path}/files`)).toBe("400 BAD_REQUEST");
      expect(await harness.requestError("GET", `${path}/files/nothing`)).toBe("404 NOT_FOUND");
    });

    it("stores no more bytes than a session may have, however many uploads run at once", async () => {
      const url = `${harness.server.url}/api/v1${path}/files?name=x`;
      const body = Buffer.alloc(900_000);
      const send = () => fetch(url, { method: "POST", headers: { ...harness.server.auth }, body });
      const statuses = (await Promise.all(Array.from({ length: 12 }, send))).map(({ status }) => status);
      // Four files of 900 kB fit into 4 MB.
      const count = (status: number) => statuses.filter((one) => one === status).length;
      expect([count(201), count(413)]).toEqual([4, 8]);
    });

    it("refuses a declared size over the limit before the bytes arrive", async () => {
      const { server } = harness;
      const headers = { ...server.auth, "content-length": "3000001" };
      const request = httpRequest(`${server.url}/api/v1${path}/files?name=x`, { method: "POST", headers });
      request.on("error", () => undefined);
      request.write("only a few bytes");
      const [response] = (await once(request, "response")) as [IncomingMessage];
      request.destroy();
      expect(response.statusCode).toBe(413);
    });

    it("refuses other bytes under the key of a stored file, also of the same length", async () => {
      const { url, auth } = harness.server;
      const put = (body: string, file = "a.txt") =>
        fetch(`${url}/api/v1${path}/files?name=${file}`, {
          method: "POST",
          headers: { ...auth, "idempotency-key": "once" },
          body,
        });
      const first = await put("first bytes");
      expect(first.status).toBe(201);
      const repeat = await put("first bytes");
      expect([repeat.status, repeat.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
      expect(await repeat.json()).toEqual(await first.json());
      for (const refused of [await put("other bytes"), await put("first bytes", "b.txt")])
        expect([refused.status, await refused.json()]).toMatchObject([409, { error: "CONFLICT" }]);
    });

    it("lists, changes and erases the memories of a user", async () => {
      const { actor } = harness.stage;
      for (const id of ["one", "two", "three"]) await parts.store.memories.save(actor, { id, text: id });
      await parts.store.memories.save({ ...actor, user: "else" }, { id: "theirs", text: "x" });
      const { memory } = await harness.json("PATCH", "/memories/one", { text: "1", pinned: true });
      expect(memory).toMatchObject({ id: "one", text: "1", pinned: true });
      const { memories } = await harness.json("GET", "/memories");
      expect(memories.map((one: { id: string }) => one.id)).toEqual(["one", "three", "two"]);
      expect(await harness.requestError("PATCH", "/memories/one", {})).toBe("400 BAD_REQUEST");
      expect(await harness.requestError("PATCH", "/memories/one", { text: " " })).toBe("400 BAD_REQUEST");
      expect(await harness.requestError("PATCH", "/memories/theirs", { text: "y" })).toBe("404 NOT_FOUND");
      expect(await harness.requestError("DELETE", "/memories/theirs")).toBe("404 NOT_FOUND");
      expect((await harness.request("DELETE", "/memories/two")).status).toBe(204);
      expect(await harness.json("DELETE", "/memories")).toEqual({ removed: 2 });
      expect(await parts.store.memories.list({ ...actor, user: "else" })).toHaveLength(1);
    });
  });
}

function digest(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
