/** Tests the signature against a published example of Standard Webhooks, and the decision about retries. */
import { expect, test } from "vitest";
import { renderWebhook, signWebhook } from "../../../src/session/webhooks/sign-webhook.ts";
import { resultOf, webhookOptions } from "../../../src/session/webhooks/webhook-options.ts";
import { verifyWebhook } from "./receiver.ts";

const EXAMPLE = {
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
  timestamp: 1_614_265_330,
  body: '{"test": 2432232314}',
};

test("U13 the signature equals the published example of Standard Webhooks", () => {
  expect(signWebhook(EXAMPLE.secret, EXAMPLE)).toEqual({
    "webhook-id": EXAMPLE.id,
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  });
});

test("U13 the signature covers id, time and body", async () => {
  const headers = signWebhook(EXAMPLE.secret, EXAMPLE);
  const verify = (given: object, body: string = EXAMPLE.body) =>
    verifyWebhook(EXAMPLE.secret, { headers: { ...headers, ...given }, body });
  expect(await verify({})).toBe(true);
  expect(await verify({ "webhook-id": "msg_other" })).toBe(false);
  expect(await verify({ "webhook-timestamp": "1614265331" })).toBe(false);
  expect(await verify({}, `${EXAMPLE.body} `)).toBe(false);
});

test("U13 the body has a version, the ids of session and user, and the data", () => {
  const data = { turn_id: "t1", state: "end_turn", error: null };
  const delivery = { type: "turn.ended", createdAt: 0, session: "s1", user: "an", data } as const;
  expect(JSON.parse(renderWebhook(delivery))).toEqual({
    type: "turn.ended",
    version: 1,
    timestamp: "1970-01-01T00:00:00.000Z",
    data: { session_id: "s1", user_id: "an", ...data },
  });
});

const decide = (outcome: Parameters<typeof resultOf>[0], attempts = 1, random = 0) =>
  resultOf(outcome, attempts, webhookOptions.parse({}), random);

test("U13 only 2xx counts as delivered, and only what can succeed later is repeated", () => {
  for (const status of [200, 202, 204]) expect(decide({ status }).delivered).toBe(true);
  for (const status of [302, 400, 404, 429, 500, 503])
    expect(decide({ status })).toMatchObject({ delivered: false, status, retryInMs: expect.any(Number) });
  for (const error of ["TIMEOUT", "UNREACHABLE", "TOO_MANY_REDIRECTS"])
    expect(decide({ error })).toMatchObject({ error, status: null, retryInMs: expect.any(Number) });
  for (const final of [{ status: 410 }, { error: "BLOCKED" }, { error: "BAD_URL" }])
    expect(decide(final)).toMatchObject({ delivered: false, retryInMs: null });
});

const delays = (random: number) =>
  Array.from({ length: 16 }, (_, n) => {
    const result = decide({ status: 500 }, n + 1, random);
    return result.delivered ? null : result.retryInMs;
  });

test("U13 delays double with jitter up to six hours, and end after 16 attempts within a day", () => {
  expect(delays(1).slice(0, 3)).toEqual([5_000, 10_000, 20_000]);
  expect(delays(0).slice(0, 3)).toEqual([2_500, 5_000, 10_000]);
  expect(delays(1).slice(-3)).toEqual([21_600_000, 21_600_000, null]);
  const total = delays(1).reduce((sum: number, ms) => sum + (ms ?? 0), 0);
  expect(total).toBeLessThan(24 * 60 * 60 * 1_000);
  expect(total).toBeGreaterThan(23 * 60 * 60 * 1_000);
});
