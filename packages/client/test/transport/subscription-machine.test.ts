/** Tests `stepSubscription`: when a session subscribes on the connection, what it passes on, and when it is live. */
import { describe, expect, test } from "vitest";
import { ClientError } from "../../src/errors.ts";
import {
  INITIAL_SUBSCRIPTION,
  stepSubscription,
  type SubscriptionInput,
  type SubscriptionState,
} from "../../src/transport/subscription-machine.ts";

class FakeSubscription {
  state: SubscriptionState = INITIAL_SUBSCRIPTION;
  /** The number of subscribe requests. */
  requests = 0;
  readonly passed: string[] = [];

  take(...inputs: SubscriptionInput[]): this {
    for (const input of inputs) {
      const step = stepSubscription(this.state, input, { now: 1_000, random: 1 });
      this.state = step.state;
      if (step.subscribe) this.requests += 1;
      if (step.pass) this.passed.push(input.type);
    }
    return this;
  }

  subscribed(resumed: boolean, head: string | null, cursor: string | null): this {
    return this.take({ type: "subscribed", request: this.state.request, resumed, head, cursor });
  }
}

const connected = { type: "connected" } as const;
const resync = { type: "resync" } as const;
const position = (cursor: string) => ({ type: "position", cursor }) as const;

describe("stepSubscription", () => {
  test("a subscription is live once it has received everything up to the head", () => {
    const subscription = new FakeSubscription().take(connected).subscribed(true, "2-9", "1-4");
    expect([subscription.requests, subscription.state.phase, subscription.state.isResync]).toEqual([
      1,
      "replaying",
      false,
    ]);
    subscription.take(position("2-8"));
    expect(subscription.state.phase).toBe("replaying");
    subscription.take(position("2-9"));
    expect(subscription.state.phase).toBe("live");
    expect(subscription.passed).toEqual(["subscribed", "position", "position"]);
  });

  test.for([
    ["2-9", "2-9"],
    ["2-8", "2-9"],
    ["1-30", "2-9"],
  ] as const)("a subscription with the head %s is live immediately at the cursor %s", ([head, cursor]) => {
    expect(new FakeSubscription().take(connected).subscribed(true, head, cursor).state.phase).toBe("live");
  });

  test("a subscription is live immediately if the server sends no head", () => {
    expect(new FakeSubscription().take(connected).subscribed(true, null, "1-1").state.phase).toBe("live");
  });

  test("a restart is live with the snapshot, and is a resync only if there was a state to replace", () => {
    const fresh = new FakeSubscription().take(connected).subscribed(false, "1-5", null);
    expect([fresh.state.phase, fresh.state.isResync]).toEqual(["replaying", false]);
    expect(fresh.take(position("1-5")).state.phase).toBe("live");
    const expired = new FakeSubscription().take(connected).subscribed(false, "1-5", "1-2");
    expect([expired.state.phase, expired.state.isResync]).toEqual(["replaying", true]);
    // The old cursor doesn't count, even if it is ahead of the head.
    const ahead = new FakeSubscription().take(connected).subscribed(false, "1-5", "1-7");
    expect(ahead.state.phase).toBe("replaying");
  });

  test("a restart by the server is a resync", () => {
    const subscription = new FakeSubscription().take(connected).subscribed(true, "1-5", "1-5");
    subscription.take({ type: "subscribed", request: null, resumed: false, head: "1-9", cursor: "1-5" });
    expect([subscription.state.phase, subscription.state.isResync]).toEqual(["replaying", true]);
    expect(subscription.take(position("1-9")).state).toMatchObject({ phase: "live", isResync: false });
  });

  test("a resync passes nothing on until the server replies", () => {
    const subscription = new FakeSubscription().take(connected).subscribed(true, "1-5", "1-5").take(resync);
    subscription.passed.length = 0;
    subscription.take(position("1-6"));
    subscription.take({ type: "subscribed", request: 1, resumed: true, head: null, cursor: "1-5" });
    subscription.take({ type: "subscribed", request: null, resumed: false, head: null, cursor: "1-5" });
    expect([subscription.requests, subscription.state.phase, subscription.passed]).toEqual([
      2,
      "requested",
      [],
    ]);
    subscription.subscribed(true, "1-6", "1-5").take(position("1-6"));
    expect([subscription.state.phase, subscription.passed]).toEqual(["live", ["subscribed", "position"]]);
  });

  test("repeated resyncs back off", () => {
    const subscription = new FakeSubscription()
      .take(connected)
      .subscribed(true, "1-5", "1-4")
      .take(resync)
      .subscribed(true, "1-5", "1-4")
      .take(resync);
    expect(subscription.state).toMatchObject({ phase: "waiting", retryAt: 1_500 });
    subscription.take({ type: "timer" }).subscribed(true, "1-5", "1-4").take(resync);
    expect(subscription.state).toMatchObject({ phase: "waiting", retryAt: 2_000 });
    subscription.take({ type: "timer" }).subscribed(true, "1-5", "1-4").take(position("1-5"));
    expect(subscription.state).toMatchObject({ phase: "live", retries: 0 });
  });

  test("a resync during the backoff is requested immediately", () => {
    const subscription = new FakeSubscription()
      .take(connected)
      .subscribed(true, null, "1-1")
      .take({ type: "ended", reason: "unavailable" });
    expect(subscription.state.phase).toBe("waiting");
    subscription.take(resync);
    expect([subscription.requests, subscription.state.phase, subscription.state.retryAt]).toEqual([
      2,
      "requested",
      null,
    ]);
    // If the problem persists, the backoff continues to grow.
    const error = new ClientError("SERVER_ERROR", "no", { canRetry: true });
    expect(subscription.take({ type: "rejected", request: 2, error }).state).toMatchObject({
      phase: "waiting",
      retries: 2,
    });
  });

  test("a subscription is retried if its log is unavailable, and ends if the session was deleted", () => {
    const subscription = new FakeSubscription()
      .take(connected)
      .subscribed(true, null, "1-1")
      .take({ type: "ended", reason: "unavailable" });
    expect(subscription.state).toMatchObject({ phase: "waiting", error: { code: "SERVER_ERROR" } });
    subscription.take({ type: "timer" });
    expect([subscription.requests, subscription.state.phase]).toEqual([2, "requested"]);
    subscription.subscribed(true, null, "1-1").take({ type: "ended", reason: "gone" });
    expect(subscription.state).toMatchObject({ phase: "ended", error: { code: "NOT_FOUND" } });
    expect(subscription.take(connected, { type: "disconnected" }).state.phase).toBe("ended");
  });

  test("a subscription that ends before its reply is retried", () => {
    const subscription = new FakeSubscription().take(connected, { type: "ended", reason: "unavailable" });
    expect(subscription.state).toMatchObject({ phase: "waiting", error: { code: "SERVER_ERROR" } });
    subscription.take({ type: "timer" });
    expect([subscription.requests, subscription.state.phase]).toEqual([2, "requested"]);
    expect(subscription.take({ type: "ended", reason: "gone" }).state.phase).toBe("ended");
  });

  test("a rejected subscription ends, or is retried after the server's retry delay plus the backoff", () => {
    const refuse = (error: ClientError) =>
      new FakeSubscription().take(connected).take({ type: "rejected", request: 1, error });
    expect(refuse(new ClientError("NOT_FOUND", "no")).state.phase).toBe("ended");
    const busy = new ClientError("RATE_LIMITED", "later", { canRetry: true, retryAfterSeconds: 7 });
    expect(refuse(busy).state).toMatchObject({ phase: "waiting", retryAt: 8_500 });
    const late = new FakeSubscription().take(connected, { type: "rejected", request: 0, error: busy });
    expect(late.state.phase).toBe("requested");
  });

  test("a subscription is requested again on every new channel", () => {
    const subscription = new FakeSubscription()
      .take(connected)
      .subscribed(true, null, "1-1")
      .take({ type: "disconnected" }, position("1-2"), connected);
    expect([subscription.requests, subscription.state.phase, subscription.passed]).toEqual([
      2,
      "requested",
      ["subscribed"],
    ]);
  });
});
