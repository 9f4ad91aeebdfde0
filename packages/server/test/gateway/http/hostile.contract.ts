/**
 * The contract of hostile requests: every route executes a request or refuses it with the error schema and a code. The
 * requests are derived from the route table, so that a new route can't be missed.
 */
import { errorReply } from "@turnstream/protocol/schema";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createGateway, type Gateway } from "../../../src/gateway/gateway.ts";
import type { Route } from "../../../src/gateway/http/route.ts";
import { ALL_ROUTES } from "../all-routes.ts";
import { FEATURES } from "@turnstream/testkit/backend/test-features.ts";
import { PaymentError } from "@turnstream/payments";
import { createSession } from "../../../src/session/lifecycle/create.ts";
import type { HarnessBackend } from "../../engine/turn-harness.ts";
import { requestInteraction } from "../pending-interactions.ts";
import { requestTestPayment } from "../pending-payments.ts";

const LONG = "x".repeat(1_000_000);
/** Names as they appear in a URL. */
const SEGMENTS = [
  "%00",
  "a%00b",
  "a%0d%0aset-cookie:%20x",
  "%2e%2e%2f%2e%2e",
  "..%2f",
  "%",
  "%zz",
  "%ed%a0%80",
  "__proto__",
  "constructor",
  "-1",
  "0",
  "1e309",
  "99999999999999999999999999",
  "9007199254740993",
  "%F0%9F%92%A5",
  "%20",
  "a".repeat(257),
  LONG,
  "'%20or%201=1--",
  "null",
];
const VALUES: readonly unknown[] = [
  null,
  true,
  -1,
  0,
  1.5,
  1e308,
  2 ** 53,
  "",
  "\0",
  "a\0b\r\nc",
  "\ud800",
  "💥",
  "__proto__",
  LONG,
  [],
  {},
  [[]],
  { constructor: { prototype: { x: 1 } } },
  Array.from({ length: 2_000 }, () => "x"),
];
const FIELDS = [
  "title",
  "session_id",
  "user_id",
  "scopes",
  "seconds",
  "message",
  "content_urls",
  "agent_id",
  "display_mode",
  "client_message_id",
  "form_values",
  "resume_form_request_id",
  "decision",
  "args",
  "reason",
  "digest",
  "always",
  "answers",
  "values",
  "go_on",
  "objects",
  "prune",
  "text",
  "pinned",
  "turns",
  "note",
];
const RAW = [
  "",
  "{",
  "nonsense",
  '{"__proto__":{"x":1}}',
  '{"values":{"__proto__":1}}',
  `${'{"values":'.repeat(5_000)}1${"}".repeat(5_000)}`,
  "[".repeat(100_000),
  "\ufeff{}",
  `"${"x".repeat(3_000_000)}"`,
];
/** Bodies that match the schemas but contain unusual values. */
const NEARLY = [
  { decision: "approve" },
  { decision: "edit", args: { count: "\0" } },
  { decision: "edit", args: { count: "\ud800" } },
  { decision: "reject", reason: "\0\ud800" },
  { decision: "approve", digest: "\0", always: true },
  { answers: [{ question: "meal", selected: ["\0"] }] },
  { answers: [{ question: "meal", selected: ["dinner"], text: "\0" }] },
  { reason: "\0" },
  { values: { email: "a\0b@x.test" } },
  { values: { email: "\ud800" } },
  { values: { email: { upload: "\0" } }, go_on: false },
  { objects: [{ id: "\0", text: "x" }] },
  { objects: [{ id: "a", text: "\0\ud800", title: "\0", url: "\0", metadata: { "\0": "\0" } }], prune: true },
  { text: "\0", pinned: true },
  { text: "\ud800" },
  { title: "\0" },
  { title: "\ud800" },
  { user_id: "\0" },
  { note: "\0" },
  { note: "\ud800" },
  { message: "\0\ud800", client_message_id: "\0" },
  { message: "\0\ud800", client_message_id: "\ud800", content_urls: ["\0", "\ud800"] },
  { text: "\0\ud800", client_message_id: "\0" },
  { text: "x", resume_form_request_id: "\0", form_values: { "\0": 1 } },
  { message: "x", resume_form_request_id: "\0", form_values: { "\0": 1 } },
];
/** Some routes wait for a turn or never end, so the test aborts their requests after this time. */
const TIMEOUT_MS = 150;

interface Given {
  readonly segments: readonly string[];
  readonly ownSession: boolean;
  readonly ownRest: boolean;
}

export function hostileContract(name: string, makeParts: () => Promise<HarnessBackend>, runs: number): void {
  describe(`hostile requests on ${name}`, () => {
    let parts: HarnessBackend;
    let gateway: Gateway;
    let things: Readonly<Record<string, string>>;
    let foreign: string;
    let auth: Readonly<Record<string, string>>;
    const ours: unknown[] = [];
    beforeAll(async () => {
      parts = await makeParts();
      const actor = { tenant: "acme", user: "an" };
      await parts.store.tenants.create({ id: "acme", name: "Acme" });
      const { secret } = await parts.store.keys.create("acme", { name: "test", scopes: [] });
      auth = { "x-api-key": secret, "x-user-id": actor.user, "content-type": "application/json" };
      foreign = (await createSession(parts, { ...actor, user: "else" }, {})).id;
      const { store, log, signals } = parts;
      gateway = createGateway({
        store,
        log,
        signals,
        secrets: ["s".repeat(32)],
        features: FEATURES,
        // A refused request would not reach its route.
        callerLimits: { user: { requestsPerMinute: 1_000_000 }, tenant: { requestsPerMinute: 1_000_000 } },
        onError(error) {
          // There is no worker, and the gateway reports that once.
          if (String(error).includes("No worker is running")) return;
          // Forged notifications are reported, and the provider can't be reached.
          if (!(error instanceof PaymentError)) ours.push(error);
        },
      });
    });
    afterAll(async () => {
      await gateway.close();
      await Promise.all([parts.store.close(), parts.log.close(), parts.signals.close()]);
    });

    /** Creates a session with data, and again after a request has erased or decided it. */
    async function furnish({ path }: Route): Promise<void> {
      const actor = { tenant: "acme", user: "an" };
      const there =
        things === undefined ? null : await parts.store.sessions.get(actor, things["session"] ?? "");
      if (there !== null && !/\{(interaction|payment|token)\}/.test(path)) return;
      const { id: session } = await createSession(parts, actor, {});
      const ref = { tenant: "acme", session };
      const approval = await requestInteraction(parts, ref, "approval");
      const question = await requestInteraction(parts, ref, "question");
      const form = await requestInteraction(parts, ref, "form");
      const payment = await requestTestPayment(parts, ref, { provider: "bank" });
      const isQuestion = /answer|dismiss/.test(path);
      const interaction = path.endsWith("decide") ? approval : isQuestion ? question : form;
      await parts.store.memories.save(actor, { id: "m", text: "x" });
      things = {
        session,
        interaction,
        turn: "t1",
        agent: "broker",
        tool: "trade",
        base: "huts",
        memory: "m",
        payment: payment.id,
        token: payment.token,
        provider: "bank",
      };
    }

    const segment = fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...SEGMENTS, "own", "foreign", "approval-0", "question-1") },
      { weight: 1, arbitrary: fc.string({ unit: "binary" }).map(encode) },
    );
    const body = fc.oneof(
      fc.constantFrom(...RAW),
      { weight: 3, arbitrary: fc.constantFrom(...NEARLY.map((value) => JSON.stringify(value))) },
      fc
        .dictionary(fc.constantFrom(...FIELDS), fc.constantFrom(...VALUES), { maxKeys: 4 })
        .map((value) => JSON.stringify(value)),
      fc.json(),
    );
    const query = fc.oneof(
      { weight: 2, arbitrary: fc.constant("") },
      {
        weight: 1,
        arbitrary: fc
          .tuple(
            fc.constantFrom("before", "limit", "after", "turns", "task", "name", "status", "dialect", "x"),
            fc.constantFrom(...SEGMENTS, "1", "50"),
          )
          .map(([key, value]) => `?${key}=${value}`),
      },
    );

    test.each(ALL_ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const))(
      "%s executes or refuses any request",
      async (_, route) => {
        const params = (route.path.match(/\{\w+\}/g) ?? []).length;
        const request = fc.record({
          segments: fc.array(segment, { minLength: params, maxLength: params }),
          ownSession: fc.boolean(),
          ownRest: fc.boolean(),
          query,
          body,
        });
        const own = { segments: [], ownSession: true, ownRest: true, query: "", body: "{}" };
        const examples = [
          ...[...RAW, ...NEARLY.map((value) => JSON.stringify(value))].map((text) => ({
            ...own,
            body: text,
          })),
          ...SEGMENTS.map((one) => ({ ...own, ownRest: false, segments: [one, one, one] })),
          ...SEGMENTS.map((one) => ({ ...own, query: `?name=${one}&limit=${one}` })),
        ];
        await fc.assert(
          fc.asyncProperty(request, async (given) => {
            await furnish(route);
            const path = pathOf(route, given);
            const answer = await answerOf(route, `${path}${given.query}`, given.body);
            if (answer === null) return;
            const summary = [answer.status, answer.text.slice(0, 300)];
            expect(summary, path.slice(0, 300)).not.toContain(500);
            expect(summary, path.slice(0, 300)).not.toContain(429);
            // Errors of the payment pages are pages.
            const isPage = answer.text.startsWith("<!doctype html>");
            if (isPage) expect(route.path).toMatch(/^\/payments\/(checkout|return)\//);
            else if (answer.status >= 400) errorReply.parse(JSON.parse(answer.text));
            if (path.split("/")[2] === foreign && route.path.includes("{session}"))
              expect([400, 404]).toContain(answer.status);
            expect(ours.splice(0)).toEqual([]);
          }),
          { examples: examples.map((one) => [one]), numRuns: examples.length + runs },
        );
      },
      120_000,
    );

    /** Half of the requests address the caller's own resources. */
    function pathOf({ path }: Route, { segments, ownSession, ownRest }: Given): string {
      const rest = [...segments];
      return path.replaceAll(/\{(\w+)\}/g, (_all, param: string) => {
        const given = rest.shift() ?? "";
        const isOwn = param === "session" ? ownSession : ownRest;
        if (given === "own" || isOwn) return things[param] ?? (given || "x");
        return given === "foreign" ? foreign : given;
      });
    }

    async function answerOf(
      { method }: Route,
      path: string,
      text: string,
    ): Promise<{ status: number; text: string } | null> {
      const left = new AbortController();
      const timer = setTimeout(() => left.abort(), TIMEOUT_MS);
      const hasBody = method !== "GET" && method !== "DELETE";
      const init = { method, headers: auth, signal: left.signal, ...(hasBody ? { body: text } : {}) };
      try {
        const response = await gateway.handle(new Request(`http://x.test/api/v1${path}`, init));
        if (response.headers.get("content-type")?.startsWith("text/event-stream") === true) {
          await response.body?.cancel();
          return null;
        }
        return { status: response.status, text: await response.text() };
      } catch (error) {
        if (left.signal.aborted) return null;
        throw error;
      } finally {
        clearTimeout(timer);
        if (left.signal.aborted) ours.splice(0);
      }
    }
  });
}

function encode(text: string): string {
  return encodeURIComponent(Buffer.from(text).toString()) || "_";
}
