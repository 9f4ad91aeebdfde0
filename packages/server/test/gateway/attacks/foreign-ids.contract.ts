/**
 * The contract of attackers who know every id of a victim: another user of the tenant, and a user of the same name in
 * another tenant. With these ids they read nothing and change nothing (T01 to T05, T08), and an idempotency key of one
 * is no key of another (D05, D06).
 */
import { knowledgeOf } from "@turnstream/knowledge";
import { listPendingInteractions } from "@turnstream/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import type { Route } from "../../../src/gateway/http/route.ts";
import { ALL_ROUTES } from "../all-routes.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { enqueueTurnEvent } from "../../../src/session/webhooks/enqueue-events.ts";
import type { HarnessBackend } from "../../engine/turn-harness.ts";
import { sampleCommands } from "../auth/access-matrix.ts";
import { SocketClient } from "../clients.ts";
import { GatewayHarness } from "../gateway-harness.ts";
import { requestTestPayment } from "../pending-payments.ts";
import type { TestResponse } from "../test-server.ts";

/** Part of everything that belongs to the victim. */
const CANARY = "canary-51c2";
const LIMIT = 4_321;

type Auth = Readonly<Record<string, string>>;

/** What an attacker sends where a route needs a body. */
const BODIES: readonly (readonly [path: RegExp, body: unknown])[] = [
  [/^\/sessions\/\{session\}$/, { title: "owned" }],
  [/\/messages$/, { text: "hi" }],
  [/\/decide$/, { decision: "approve" }],
  [/\/answer$/, { answers: [{ question: "q", selected: [] }] }],
  [/\/(submit|draft)$/, { values: {} }],
  [/^\/memories\//, { text: "owned" }],
  [/^\/tokens$/, { user_id: "an" }],
  [/\/objects$/, { objects: [{ id: "o", text: "owned" }], prune: true }],
  [/^\/webhooks$/, { url: "http://127.0.0.1:9/owned" }],
  [/^\/limits\//, { limits: { requests_per_minute: 2_999 } }],
  [/\/resolve$/, { note: "owned" }],
];

function bodyFor({ method, path }: Route): object {
  if (method === "GET" || method === "DELETE") return {};
  return { body: BODIES.find(([pattern]) => pattern.test(path))?.[1] ?? {} };
}

export function foreignIdsContract(name: string, makeParts: () => Promise<HarnessBackend>): void {
  describe(`an attacker who knows all ids, on ${name}`, () => {
    let harness: GatewayHarness;
    let session: string;
    let number: number;
    /** The victim's ids by the names of path parameters. */
    let ids: Readonly<Record<string, string>>;
    let fileUrl: string;
    let before: string;
    let attackers: readonly (readonly [name: string, auth: Auth, isOfOtherTenant: boolean])[];
    const prompts: string[] = [];

    const market = defineAgent({
      name: "market",
      title: false,
      tools: {
        draw: tool({
          label: "Drawing",
          run: () => ({
            content: CANARY,
            blocks: [{ type: "text", text: `${CANARY} ${"x".repeat(100_000)}` }],
          }),
        }),
        buy: tool({ label: "Buying", input: z.object({}), approval: { editable: true }, run: () => CANARY }),
      },
      model: scriptedModel(({ text, step, prompt }) => {
        prompts.push(JSON.stringify(prompt));
        const [, wanted] = /(draw|buy)$/.exec(text) ?? [];
        return step > 0 || wanted === undefined ? [script.text("Done.")] : [script.toolCall(wanted)];
      }),
    });

    beforeAll(async () => {
      const parts = await makeParts();
      harness = await GatewayHarness.open(parts);
      await harness.stage.worker([market]);
      const { store } = parts;
      const { actor } = harness.stage;
      const made = await harness.json("POST", "/sessions", { title: CANARY });
      [session, number] = [made.session_id, made.chat_id];
      const ref = { tenant: actor.tenant, session };
      const path = `/sessions/${session}`;
      const { id: turn } = await harness.stage.ask(ref, `${CANARY} draw`);
      const file = await harness.json("POST", `${path}/files?name=${CANARY}.txt`, { text: CANARY });
      const share = await harness.json("POST", `${path}/shares`, {});
      await store.memories.save(actor, { id: "memory-1", text: CANARY });
      await knowledgeOf(store).put(actor.tenant, "base", { id: "o", title: CANARY, text: CANARY });
      await harness.json("PUT", `/limits/users/${actor.user}`, { limits: { requests_per_minute: LIMIT } });
      // The approval waits during all attacks, and so does the message behind it.
      await harness.stage.send(ref, `${CANARY} buy`);
      // It is in the log after it is in the store. Nothing may change any more while attackers try.
      const interaction = await harness.stage.until(ref, 60_000, ({ turns }) => {
        const last = turns.last();
        const [asked] = last === undefined ? [] : listPendingInteractions(last);
        return asked?.kind === "approval" ? asked.key : null;
      });
      const message = await harness.stage.send(ref, `${CANARY} waits`);
      const payment = await requestTestPayment(parts, ref, { description: CANARY });
      const hook = await harness.json("POST", "/webhooks", { url: `http://127.0.0.1:9/${CANARY}` });
      await enqueueTurnEvent(store, ref, "t1", { reason: "end_turn" });
      const { deliveries } = await harness.json("GET", `/webhooks/${hook.webhook_id}/deliveries`);
      fileUrl = file.url;
      ids = {
        interaction,
        turn,
        message,
        share: share.share_id,
        token: share.token,
        file: file.id,
        memory: "memory-1",
        base: "base",
        object: "o",
        agent: "market",
        tool: "buy",
        payment: payment.id,
        webhook: hook.webhook_id,
        delivery: deliveries[0].delivery_id,
        user: actor.user,
      };
      const { token } = await harness.json("POST", "/tokens", { user_id: "bo" });
      await store.tenants.create({ id: "other", name: "Other" });
      const { secret } = await store.keys.create("other", { name: "k", scopes: [] });
      attackers = [
        ["another user", { authorization: `Bearer ${token}` }, false],
        ["a user of another tenant", { "x-api-key": secret, "x-user-id": actor.user }, true],
      ];
      before = await readVictim();
      expect(before.split(CANARY).length).toBeGreaterThan(12);
    });
    afterAll(() => harness.close());

    async function read(path: string): Promise<string> {
      const { status, text } = await harness.server.request("GET", path);
      expect(status, path).toBe(200);
      // Each response has new URLs of blobs.
      return `${path} ${text.replaceAll(/\/blobs\/[\w.-]+/g, "/blobs/*")}`;
    }

    /** Returns everything that the victim has, as text. */
    async function readVictim(): Promise<string> {
      const ofSession = ["", "/history", "/snapshot", "/turns", "/interactions", "/shares", "/payments"];
      const paths = [
        ...ofSession.map((path) => `/sessions/${session}${path}`),
        `/sessions/${session}/files/${ids["file"]}`,
        `/sessions/${session}/interactions/${ids["interaction"]}`,
        "/memories",
        "/knowledge/base/objects",
        "/webhooks",
        `/payments/${ids["payment"]}`,
        `/limits/users/${ids["user"]}`,
        "/limits/tenant",
      ];
      return (await Promise.all(paths.map(read))).join("\n");
    }

    const request = (auth: Auth, method: string, path: string, body?: object): Promise<TestResponse> =>
      harness.server.request(method, path, { headers: auth, ...body });
    const fill = (path: string, of: string): string =>
      path.replaceAll(/\{(\w+)\}/g, (_, param: string) =>
        encodeURIComponent(param === "session" ? of : (ids[param] ?? "x")),
      );
    const create = async (auth: Auth, body: object): Promise<string> =>
      (await request(auth, "POST", "/sessions", { body })).json.session_id;

    test("gets no data on any route, and changes nothing", async () => {
      const missed: string[] = [];
      for (const [who, auth, isOfOtherTenant] of attackers) {
        const attack = async (route: Route, of: string) => {
          const path = fill(route.path, of) + (route.path.endsWith("/files") ? "?name=x" : "");
          const { status, text } = await request(auth, route.method, path, bodyFor(route));
          const isHidden = !text.includes(CANARY) && !text.includes(String(LIMIT));
          const isRefused = [403, 404].includes(status) || !route.path.includes("{session}");
          if (!isHidden || !isRefused || status >= 500)
            missed.push(`${who}: ${route.method} ${path}: ${status} ${text.slice(0, 200)}`);
        };
        // A link is for everyone who has it, and users of a tenant may fork its shares.
        const routes = ALL_ROUTES.filter(
          ({ scope, path }) => scope !== null && (isOfOtherTenant || path !== "/shares/{token}/fork"),
        );
        // First by number, because an attacker without sessions has none with this number.
        const ofSessions = routes.filter(({ path }) => path.includes("{session}"));
        await Promise.all(ofSessions.map((route) => attack(route, String(number))));
        await Promise.all(routes.map((route) => attack(route, session)));
      }
      expect(missed).toEqual([]);
      expect(await readVictim()).toBe(before);
    });

    test("gets no data with any command of a socket, and changes nothing", async () => {
      const keys = {
        approval_key: ids["interaction"],
        form_request_id: ids["interaction"],
        payment_request_id: ids["payment"],
      };
      for (const [who, auth, isOfOtherTenant] of attackers)
        for (const dialect of ["native", "blocks", "tasks"]) {
          const socket = await SocketClient.open({ url: harness.server.url, auth }, { dialect });
          // A number names a session of the caller's own tenant.
          for (const of of isOfOtherTenant ? [session] : [session, String(number)])
            for (const [, sample] of sampleCommands(of)) {
              const known = Object.entries(keys).filter(([key]) => key in sample);
              const command = { ...sample, ...Object.fromEntries(known) };
              if ("type" in sample && sample.type === "ping") continue;
              expect([who, command, await socket.request(command)]).toMatchObject([
                who,
                command,
                { type: "error", error: "NOT_FOUND" },
              ]);
            }
          expect(JSON.stringify(socket.frames)).not.toContain(CANARY);
          socket.close();
        }
      expect(await readVictim()).toBe(before);
    });

    test("finds nothing of the victim in an own session, also in one with the same id", async () => {
      for (const [who, auth, isOfOtherTenant] of attackers) {
        const own = await create(auth, isOfOtherTenant ? { session_id: session } : {});
        for (const route of ALL_ROUTES.filter(({ path }) => /^\/sessions\/\{session\}\/.*\{/.test(path))) {
          const path = fill(route.path, own);
          const { status, text, json } = await request(auth, route.method, path, bodyFor(route));
          // There is nothing to stop, and that is no error.
          const isRefused = status >= 400 || (path.endsWith("/stop") && json.receipt === "over");
          expect([who, path, isRefused, text.includes(CANARY)]).toEqual([who, path, true, false]);
        }
        const from = prompts.length;
        const body = { text: "Read this", content_urls: [fileUrl] };
        const answer = await request(auth, "POST", `/sessions/${own}/messages`, { body });
        expect([answer.status, answer.json.status]).toEqual([200, "completed"]);
        expect(prompts.slice(from)).toHaveLength(1);
        const history = await request(auth, "GET", `/sessions/${own}/history`);
        for (const text of [...prompts.slice(from), history.text]) expect(text).not.toContain(CANARY);
      }
      expect(await readVictim()).toBe(before);
    });

    test("shares no idempotency key with others, and twenty requests with one key create one session", async () => {
      const { auth: victim } = harness.server;
      const key = { "idempotency-key": "same-key" };
      const all = [victim, ...attackers.map(([, auth]) => auth)];
      const made = await Promise.all(all.map((auth) => create({ ...auth, ...key }, { title: "x" })));
      expect(new Set(made).size).toBe(3);
      const headers = { ...victim, ...key };
      expect(await create(headers, { title: "x" })).toBe(made[0]);
      expect((await request(headers, "POST", "/sessions", { body: { title: "y" } })).status).toBe(409);
      const once = { ...victim, "idempotency-key": "race" };
      const many = await Promise.all(Array.from({ length: 20 }, () => create(once, { title: "x" })));
      expect(new Set(many).size).toBe(1);
    });

    test("gets no webhooks of another tenant, no usage, and none of its limits", async () => {
      const { store } = harness.stage.backend;
      const { tenant, user } = harness.stage.actor;
      await store.tenants.create({ id: "third", name: "Third" });
      const { secret } = await store.keys.create("third", { name: "k", scopes: [] });
      const auth = { "x-api-key": secret, "x-user-id": user };
      const body = { url: "http://127.0.0.1:9/own" };
      const { webhook_id } = (await request(auth, "POST", "/webhooks", { body })).json;
      await enqueueTurnEvent(store, { tenant, session }, "t2", { reason: "end_turn" });
      const deliveries = await request(auth, "GET", `/webhooks/${webhook_id}/deliveries`);
      expect(deliveries.json.deliveries).toEqual([]);
      for (const path of ["/usage", "/usage/tenant"]) {
        expect((await request(auth, "GET", path)).json, path).toEqual({ days: [] });
        expect((await harness.json("GET", path)).days, path).not.toEqual([]);
      }
      // The user of the same name uses up its own limit.
      const limits = { limits: { requests_per_minute: 3 } };
      expect((await request(auth, "PUT", `/limits/users/${user}`, { body: limits })).status).toBe(200);
      const flood = Array.from({ length: 10 }, () => request(auth, "GET", "/sessions"));
      expect((await Promise.all(flood)).map(({ status }) => status)).toContain(429);
      expect(await readVictim()).toBe(before);
    });
  });
}
