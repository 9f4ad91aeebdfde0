/** One session on the connection: what is asked for, what is passed on, and when it is live. */
import { describe, expect, test } from "vitest";
import { ClientError } from "../../src/errors.ts";
import {
  OFF,
  stepSubscription,
  type SubscriptionInput,
  type SubscriptionState,
} from "../../src/transport/subscription-machine.ts";

class One {
  state: SubscriptionState = OFF;
  /** How often it was asked for. */
  asked = 0;
  readonly passed: string[] = [];

  take(...inputs: SubscriptionInput[]): this {
    for (const input of inputs) {
      const step = stepSubscription(this.state, input, { now: 1_000, random: 1 });
      this.state = step.state;
      if (step.subscribe) this.asked += 1;
      if (step.pass) this.passed.push(input.type);
    }
    return this;
  }

  begun(resumed: boolean, head: string | null, cursor: string | null): this {
    return this.take({ type: "subscribed", request: this.state.request, resumed, head, cursor });
  }
}

const wire = { type: "wire" } as const;
const again = { type: "again" } as const;
const at = (cursor: string) => ({ type: "at", cursor }) as const;

describe("a subscription", () => {
  test("is live once it has seen what was there when it began", () => {
    const one = new One().take(wire).begun(true, "2-9", "1-4");
    expect([one.asked, one.state.phase, one.state.isAnew]).toEqual([1, "replaying", false]);
    one.take(at("2-8"));
    expect(one.state.phase).toBe("replaying");
    one.take(at("2-9"));
    expect(one.state.phase).toBe("live");
    expect(one.passed).toEqual(["subscribed", "at", "at"]);
  });

  test.for([
    ["2-9", "2-9"],
    ["2-8", "2-9"],
    ["1-30", "2-9"],
  ] as const)("whose head is %s is live at once at %s", ([head, cursor]) => {
    expect(new One().take(wire).begun(true, head, cursor).state.phase).toBe("live");
  });

  test("is live at once where no head is told", () => {
    expect(new One().take(wire).begun(true, null, "1-1").state.phase).toBe("live");
  });

  test("that begins anew is live with the snapshot; what is shown is being replaced only where something is", () => {
    const fresh = new One().take(wire).begun(false, "1-5", null);
    expect([fresh.state.phase, fresh.state.isAnew]).toEqual(["replaying", false]);
    expect(fresh.take(at("1-5")).state.phase).toBe("live");
    const expired = new One().take(wire).begun(false, "1-5", "1-2");
    expect([expired.state.phase, expired.state.isAnew]).toEqual(["replaying", true]);
    // Where it stands counts for nothing any more.
    const ahead = new One().take(wire).begun(false, "1-5", "1-7");
    expect(ahead.state.phase).toBe("replaying");
  });

  test("that the server begins anew by itself is replaced", () => {
    const one = new One().take(wire).begun(true, "1-5", "1-5");
    one.take({ type: "subscribed", request: null, resumed: false, head: "1-9", cursor: "1-5" });
    expect([one.state.phase, one.state.isAnew]).toEqual(["replaying", true]);
    expect(one.take(at("1-9")).state).toMatchObject({ phase: "live", isAnew: false });
  });

  test("that begins again passes nothing on until it is answered", () => {
    const one = new One().take(wire).begun(true, "1-5", "1-5").take(again);
    one.passed.length = 0;
    one.take(at("1-6"), { type: "ended", reason: "unavailable" });
    one.take({ type: "subscribed", request: 1, resumed: true, head: null, cursor: "1-5" });
    one.take({ type: "subscribed", request: null, resumed: false, head: null, cursor: "1-5" });
    expect([one.asked, one.state.phase, one.passed]).toEqual([2, "asked", []]);
    one.begun(true, "1-6", "1-5").take(at("1-6"));
    expect([one.state.phase, one.passed]).toEqual(["live", ["subscribed", "at"]]);
  });

  test("that begins again and again waits longer each time", () => {
    const one = new One()
      .take(wire)
      .begun(true, "1-5", "1-4")
      .take(again)
      .begun(true, "1-5", "1-4")
      .take(again);
    expect(one.state).toMatchObject({ phase: "waiting", retryAt: 1_500 });
    one.take({ type: "timer" }).begun(true, "1-5", "1-4").take(again);
    expect(one.state).toMatchObject({ phase: "waiting", retryAt: 2_000 });
    one.take({ type: "timer" }).begun(true, "1-5", "1-4").take(at("1-5"));
    expect(one.state).toMatchObject({ phase: "live", retries: 0 });
  });

  test("that waits is asked for at once when somebody says so", () => {
    const one = new One().take(wire).begun(true, null, "1-1").take({ type: "ended", reason: "unavailable" });
    expect(one.state.phase).toBe("waiting");
    one.take(again);
    expect([one.asked, one.state.phase, one.state.retryAt]).toEqual([2, "asked", null]);
    // What is still wrong is waited for longer and longer.
    const error = new ClientError("SERVER_ERROR", "no", { canRetry: true });
    expect(one.take({ type: "refused", request: 2, error }).state).toMatchObject({
      phase: "waiting",
      retries: 2,
    });
  });

  test("whose log can't be reached is asked for later; one that is gone isn't", () => {
    const one = new One().take(wire).begun(true, null, "1-1").take({ type: "ended", reason: "unavailable" });
    expect(one.state).toMatchObject({ phase: "waiting", error: { code: "SERVER_ERROR" } });
    one.take({ type: "timer" });
    expect([one.asked, one.state.phase]).toEqual([2, "asked"]);
    one.begun(true, null, "1-1").take({ type: "ended", reason: "gone" });
    expect(one.state).toMatchObject({ phase: "over", error: { code: "NOT_FOUND" } });
    expect(one.take(wire, { type: "lost" }).state.phase).toBe("over");
  });

  test("that is refused is over, or asked for when the server says so", () => {
    const refuse = (error: ClientError) => new One().take(wire).take({ type: "refused", request: 1, error });
    expect(refuse(new ClientError("NOT_FOUND", "no")).state.phase).toBe("over");
    const busy = new ClientError("RATE_LIMITED", "later", { canRetry: true, retryAfterSeconds: 7 });
    expect(refuse(busy).state).toMatchObject({ phase: "waiting", retryAt: 8_000 });
    const late = new One().take(wire, { type: "refused", request: 0, error: busy });
    expect(late.state.phase).toBe("asked");
  });

  test("is asked for anew with every wire", () => {
    const one = new One().take(wire).begun(true, null, "1-1").take({ type: "lost" }, at("1-2"), wire);
    expect([one.asked, one.state.phase, one.passed]).toEqual([2, "asked", ["subscribed"]]);
  });
});
