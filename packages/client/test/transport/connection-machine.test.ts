/** Tests `stepConnection`: every phase, every transition, and the invariants under random inputs. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ClientError, type ClientErrorCode } from "../../src/errors.ts";
import { TIMING } from "../../src/transport/timing.ts";
import { FakeNetwork } from "./fake-network.ts";

const refusal = (code: ClientErrorCode, retryAfterSeconds?: number): ClientError =>
  new ClientError(code, code, retryAfterSeconds === undefined ? {} : { retryAfterSeconds });
const closed = (code: number) => ({ type: "closed", code }) as const;

describe("stepConnection: connecting", () => {
  test("a connection authorizes, opens a socket, and is open", () => {
    const network = new FakeNetwork().take({ type: "start" });
    expect([network.state.phase, network.lastEffects()]).toEqual(["authorizing", ["authorize"]]);
    network.take({ type: "authorized" });
    expect([network.state.phase, network.channel]).toEqual(["opening", "websocket"]);
    network.take({ type: "opened" });
    expect(network.state.phase).toBe("open");
  });

  test("failed attempts back off up to half a minute, with jitter", () => {
    const waits = [0, 1].map((random) => {
      const network = new FakeNetwork(() => random).take({ type: "start" });
      return Array.from({ length: 9 }, () => {
        network.reject(refusal("OFFLINE"));
        const ms = (network.state.timerAt ?? 0) - network.now;
        network.fire();
        return ms;
      });
    });
    expect(waits[1]).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    expect(waits[0]).toEqual(waits[1]?.map((ms) => ms / 2));
  });

  test("the next attempt waits for the server's retry delay plus the backoff", () => {
    const network = new FakeNetwork().take({ type: "start" }).reject(refusal("RATE_LIMITED", 20));
    const waitMs = (network.state.timerAt ?? 0) - network.now;
    expect(waitMs).toBeGreaterThan(20_000);
    expect(waitMs).toBeLessThanOrEqual(20_500);
  });

  test("rejected credentials are renewed once", () => {
    const network = new FakeNetwork().take({ type: "start" });
    network.lastEffects();
    network.reject(refusal("UNAUTHENTICATED"));
    expect(network.effects).toMatchObject([{ type: "authorize", renew: true }]);
    network.reject(refusal("UNAUTHENTICATED"));
    expect(network.state).toMatchObject({ phase: "closed", error: { code: "UNAUTHENTICATED" } });
    expect(network.state.timerAt).toBeNull();
    network.take({ type: "reconnect" });
    expect(network.state.phase).toBe("authorizing");
  });

  test.for(["FORBIDDEN", "NOT_FOUND", "BAD_REQUEST"] as const)(
    "a rejection with %s closes the connection permanently",
    (code) => {
      const network = new FakeNetwork().take({ type: "start" }).reject(refusal(code));
      expect(network.state).toMatchObject({ phase: "closed", error: { code } });
    },
  );

  test("no response counts as a failure", () => {
    const network = new FakeNetwork().take({ type: "start" }).fire();
    expect([network.state.phase, network.state.failures]).toEqual(["waiting", 1]);
    expect(network.lastEffects()).toEqual(["authorize", "drop"]);
  });
});

const shut = (network: FakeNetwork): FakeNetwork =>
  network.take({ type: "authorized" }).take(closed(1006)).fire();

/** Returns the channel that is opened after two open sockets were cut. */
function nextAfterCuts(code: number, isReceived: boolean): string | null {
  const network = new FakeNetwork().take({ type: "start" });
  for (let n = 0; n < 2; n++) {
    network.take({ type: "authorized" }).take({ type: "opened" });
    if (isReceived) network.take({ type: "received" });
    network.take(closed(code)).fire();
  }
  return network.take({ type: "authorized" }).channel;
}

describe("stepConnection: blocked sockets", () => {
  test("event streams are used after two blocked sockets, and sockets are tried again after a while", () => {
    const network = shut(shut(new FakeNetwork().take({ type: "start" }))).take({ type: "authorized" });
    expect(network.channel).toBe("sse");
    network
      .take({ type: "opened" })
      .take({ type: "live" })
      .take(closed(1006))
      .fire()
      .take({ type: "authorized" });
    expect(network.channel).toBe("sse");
    network.take({ type: "opened" }).take({ type: "live" }).pass(TIMING.sseFallbackMs);
    network.take(closed(1006)).fire().take({ type: "authorized" });
    expect(network.channel).toBe("websocket");
    // Then one blocked socket is enough to return to event streams.
    network.take(closed(1006)).fire().take({ type: "authorized" });
    expect(network.channel).toBe("sse");
  });

  test("a socket that neither opens nor fails counts as blocked", () => {
    const network = new FakeNetwork().take({ type: "start" }).take({ type: "authorized" }).fire().fire();
    network.take({ type: "authorized" }).fire().fire().take({ type: "authorized" });
    expect(network.channel).toBe("sse");
  });

  test("an open socket that never receives anything counts as blocked, and is detected sooner than later silence", () => {
    const network = new FakeNetwork().take({ type: "start" });
    const since = network.now;
    for (let n = 0; n < 2; n++) {
      network.take({ type: "authorized" }).take({ type: "opened" });
      while (network.state.phase !== "waiting") network.fire();
      network.fire();
    }
    expect(network.now - since).toBeLessThan(TIMING.websocketIdleMs * 2);
    expect(network.take({ type: "authorized" }).channel).toBe("sse");
  });

  test("a socket that is cut before it receives anything counts as blocked, unless the server sent a close code", () => {
    expect([nextAfterCuts(1006, false), nextAfterCuts(1006, true), nextAfterCuts(1012, false)]).toEqual([
      "sse",
      "websocket",
      "websocket",
    ]);
  });

  test("a live socket resets the count of blocked sockets", () => {
    const network = shut(new FakeNetwork().take({ type: "start" })).take({ type: "authorized" });
    network.take({ type: "opened" }).take({ type: "live" }).take(closed(1006)).fire();
    expect(shut(network).take({ type: "authorized" }).channel).toBe("websocket");
  });

  test("sockets are tried again when the page becomes visible after a while, but not sooner", () => {
    const network = shut(shut(new FakeNetwork().take({ type: "start" }))).take({ type: "authorized" });
    network.take({ type: "opened" }).take({ type: "live" });
    network.setPage(true, true).setPage(true, false);
    expect(network.channel).toBe("sse");
    network.setPage(true, true).pass(TIMING.sseFallbackMs);
    network.receivedAt = network.now;
    network.setPage(true, false).take({ type: "authorized" });
    expect(network.channel).toBe("websocket");
  });

  test("sockets are tried again after the network was lost and is back", () => {
    const network = shut(shut(new FakeNetwork().take({ type: "start" })));
    network.setPage(false, false).setPage(true, false).take({ type: "authorized" });
    expect(network.channel).toBe("websocket");
  });

  test("there is no fallback if sockets are the only configured channel", () => {
    const network = new FakeNetwork(undefined, ["websocket"]).take({ type: "start" });
    shut(shut(shut(network))).take({ type: "authorized" });
    expect(network.channel).toBe("websocket");
  });
});

describe("stepConnection: lost connections", () => {
  test("the first reconnect is quick, and short connections back off", () => {
    const network = new FakeNetwork(() => 0).live();
    const waits = Array.from({ length: 5 }, () => {
      network.take(closed(1006));
      const ms = (network.state.timerAt ?? 0) - network.now;
      network.fire().take({ type: "authorized" }).take({ type: "opened" }).take({ type: "live" });
      return ms;
    });
    expect(waits).toEqual([100, 100, 250, 500, 1_000]);
    network.pass(TIMING.shortConnectionMs).take(closed(1006));
    expect((network.state.timerAt ?? 0) - network.now).toBe(100);
    expect(network.state.failures).toBe(0);
  });

  test("after 1012, clients reconnect with jitter, or after the server's retry delay", () => {
    const at = [0, 1].map((random) => {
      const network = new FakeNetwork(() => random).live().take(closed(1012));
      return (network.state.timerAt ?? 0) - network.now;
    });
    expect(at).toEqual([500, 3_000]);
    const restarted = new FakeNetwork().live().take({ type: "closed", code: 1012, retryAfterMs: 9_000 });
    expect((restarted.state.timerAt ?? 0) - restarted.now).toBe(9_000);
  });

  test("repeated 1012 before anything was received backs off", () => {
    const network = new FakeNetwork().live();
    const waits = Array.from({ length: 8 }, () => {
      network.take(closed(1012));
      const ms = (network.state.timerAt ?? 0) - network.now;
      network.fire().take({ type: "authorized" }).take({ type: "opened" });
      return ms;
    });
    expect(waits.at(-1)).toBeGreaterThan(10_000);
  });

  test("4401 renews credentials, and closes if they are rejected again before anything was received", () => {
    const network = new FakeNetwork().live().take(closed(4401)).fire();
    expect(network.effects.at(-1)).toMatchObject({ type: "authorize", renew: true });
    network.take({ type: "authorized" }).take({ type: "opened" }).take(closed(4401));
    expect(network.state).toMatchObject({ phase: "closed", error: { code: "UNAUTHENTICATED" } });
  });

  test("4401 after a live connection renews credentials each time", () => {
    const network = new FakeNetwork().live();
    for (let n = 0; n < 3; n++) {
      network.take(closed(4401)).fire();
      expect(network.effects.at(-1)).toMatchObject({ type: "authorize", renew: true });
      network.take({ type: "authorized" }).take({ type: "opened" }).take({ type: "live" });
    }
  });

  test.for([
    [4400, "BAD_REQUEST"],
    [1003, "BAD_REQUEST"],
    [1009, "TOO_LARGE"],
  ] as const)("%i closes the connection permanently with %s", ([code, word]) => {
    expect(new FakeNetwork().live().take(closed(code)).state).toMatchObject({
      phase: "closed",
      error: { code: word },
    });
  });

  test("4429 waits at least five seconds", () => {
    const network = new FakeNetwork().live().take(closed(4429));
    expect((network.state.timerAt ?? 0) - network.now).toBeGreaterThanOrEqual(5_000);
  });
});

describe("stepConnection: a silent channel", () => {
  test("is probed even if the clock was set back by an hour", () => {
    const network = new FakeNetwork().live();
    network.now -= 3_600_000;
    network.take({ type: "timer", receivedAt: network.receivedAt });
    expect(network.state.phase).toBe("probing");
  });

  test("is probed, and stays open after any reply", () => {
    const network = new FakeNetwork().live().fire();
    expect(network.state.phase).toBe("probing");
    expect(network.lastEffects().at(-1)).toBe("probe");
    network.take({ type: "received" });
    expect(network.state.phase).toBe("open");
  });

  test("is lost without a reply to the probe", () => {
    const network = new FakeNetwork().live().pass(60_000).fire().fire();
    expect(network.state).toMatchObject({ phase: "waiting", error: { code: "OFFLINE" } });
    expect(network.channel).toBeNull();
  });

  test("is not probed if it received something in the meantime", () => {
    const network = new FakeNetwork().live();
    network.receivedAt = network.now + TIMING.websocketIdleMs - 1_000;
    network.fire();
    expect(network.state).toMatchObject({
      phase: "open",
      timerAt: network.receivedAt + TIMING.websocketIdleMs,
    });
  });

  test("is not probed while the page is hidden, but immediately when it is visible", () => {
    const network = new FakeNetwork().live().setPage(true, true).fire();
    expect(network.state.phase).toBe("open");
    network.setPage(true, false);
    expect(network.state.phase).toBe("probing");
  });

  test("is lost without a probe if it is an event stream, because those have heartbeats every 15 seconds", () => {
    const network = new FakeNetwork(undefined, ["sse"]).live().pass(60_000).fire();
    expect(network.state.phase).toBe("waiting");
  });

  test.for(["websocket", "sse"] as const)(
    "U08: stays open for more than 180 seconds over a %s to a server of another dialect",
    (wire) => {
      const network = new FakeNetwork(undefined, [wire]);
      network.isOtherDialect = true;
      const start = network.live().now;
      while (network.channel !== null) network.fire();
      expect(network.now - start).toBe(TIMING.dialectIdleMs);
    },
  );

  test("U08: stays open during 180 silent seconds of a turn, as long as the server replies to probes", () => {
    const network = new FakeNetwork().live();
    const start = network.now;
    while (network.now - start < 180_000) {
      network.fire();
      if (network.state.phase === "probing") {
        network.receivedAt = network.now;
        network.take({ type: "received" });
      }
    }
    expect(network.authorizations.length).toBe(1);
    expect(network.channel).toBe("websocket");
  });
});

describe("stepConnection: changes of the page", () => {
  test("the connection is offline without a network, and reconnects immediately with one", () => {
    const network = new FakeNetwork().live().setPage(false, false);
    expect([network.state.phase, network.channel]).toEqual(["offline", null]);
    network.setPage(true, false);
    expect(network.state.phase).toBe("authorizing");
  });

  test("an offline connection retries occasionally, because the browser's report can be wrong", () => {
    const network = new FakeNetwork().live().setPage(false, false).fire();
    expect(network.state.phase).toBe("authorizing");
    network.reject(refusal("OFFLINE"));
    expect(network.state.phase).toBe("offline");
  });

  test("a waiting connection retries immediately when the page becomes visible", () => {
    const network = new FakeNetwork().take({ type: "start" });
    for (let n = 0; n < 8; n++) network.reject(refusal("OFFLINE")).fire();
    network.reject(refusal("OFFLINE")).setPage(true, true).setPage(true, false);
    expect(network.state.phase).toBe("authorizing");
  });

  test("a stopped connection has no channel and no timer", () => {
    const network = new FakeNetwork().live().take({ type: "stop" });
    expect([network.state.phase, network.state.timerAt, network.channel]).toEqual(["idle", null, null]);
  });
});

/** Returns the connection of a hidden page that needs none. */
const hidden = (): FakeNetwork => {
  const network = new FakeNetwork().live().setPage(true, true);
  network.mayClose = true;
  return network.take({ type: "activity" });
};
/** Fires its timers until the connection has closed. */
const closes = (network: FakeNetwork): number => {
  const since = network.now;
  while (network.state.phase === "open") network.fire();
  expect(network.state).toMatchObject({ phase: "hidden", timerAt: null, error: null, failures: 0 });
  expect(network.channel).toBeNull();
  return network.now - since;
};

describe("stepConnection: a hidden page", () => {
  test("closes its connection after a minute without an error, and opens it at once when it is shown", () => {
    const network = hidden();
    expect(closes(network)).toBe(TIMING.hiddenMs);
    network.setPage(true, false);
    expect([network.state.phase, network.state.error]).toEqual(["authorizing", null]);
  });

  test("keeps its connection while it needs it, and for some seconds after that", () => {
    const network = hidden().pass(30_000);
    network.mayClose = false;
    network.take({ type: "activity" });
    for (let n = 0; n < 20; n++) network.fire();
    expect(network.state.phase).toBe("open");
    network.mayClose = true;
    network.take({ type: "activity" });
    expect(closes(network)).toBe(TIMING.unneededMs);
  });

  test("opens a closed connection when it needs one, and closes it again", () => {
    const network = hidden();
    closes(network);
    network.mayClose = false;
    network.take({ type: "activity" });
    expect(network.state.phase).toBe("authorizing");
    network.take({ type: "authorized" }).take({ type: "opened" }).take({ type: "live" });
    network.mayClose = true;
    network.take({ type: "activity" });
    expect(closes(network)).toBe(TIMING.unneededMs);
  });

  test("never closes the connection of a visible page", () => {
    const network = new FakeNetwork().live();
    network.mayClose = true;
    for (let n = 0; n < 5; n++) {
      network.fire().take({ type: "received" });
      expect(network.channel).toBe("websocket");
    }
  });

  test("that is shown again in time keeps its connection, and a later minute starts anew", () => {
    const network = hidden().pass(59_000);
    network.receivedAt = network.now;
    network.setPage(true, false).pass(60_000);
    network.receivedAt = network.now;
    network.setPage(true, true);
    expect(closes(network)).toBe(TIMING.hiddenMs);
  });

  test("opens a connection for a session that it has not loaded, and for a refresh", () => {
    for (const type of ["start", "reconnect"] as const) {
      const network = hidden();
      closes(network);
      expect(network.take({ type }).state.phase).toBe("authorizing");
    }
  });

  test("closes at once when it is frozen, even if it needs the connection, and opens it when it is resumed", () => {
    const network = new FakeNetwork().live().setPage(true, true, true);
    expect([network.state.phase, network.channel]).toEqual(["hidden", null]);
    network.take({ type: "activity" }).take({ type: "reconnect" });
    expect([network.state.phase, network.isAuthorizing]).toEqual(["hidden", false]);
    network.setPage(true, true);
    expect(network.state.phase).toBe("authorizing");
  });

  test("that is resumed without being shown stays closed if it needs no connection", () => {
    const network = hidden().setPage(true, true, true).setPage(true, true);
    expect(network.state.phase).toBe("hidden");
  });

  test("loses and regains the network without leaving the phase, and is offline only when it is shown", () => {
    const network = hidden();
    closes(network);
    network.setPage(false, true).setPage(true, true).setPage(false, true);
    expect(network.state.phase).toBe("hidden");
    network.setPage(false, false);
    expect(network.state.phase).toBe("offline");
    network.setPage(true, false);
    expect(network.state.phase).toBe("authorizing");
  });

  test("reconnects after a lost connection before it closes, because a turn may have started", () => {
    const network = hidden().pass(50_000).take(closed(1006));
    expect(network.state.phase).toBe("waiting");
    network.fire().pass(20_000).take({ type: "authorized" }).take({ type: "opened" }).take({ type: "live" });
    expect(closes(network)).toBe(TIMING.unneededMs);
  });

  test("waits for the reply to a probe before it closes", () => {
    const network = new FakeNetwork().live().fire();
    network.mayClose = true;
    network.setPage(true, true).take({ type: "activity" });
    expect(network.state.phase).toBe("probing");
    network.take({ type: "received" });
    expect(closes(network)).toBe(TIMING.hiddenMs);
  });
});

const word = fc.constantFrom<ClientErrorCode>(
  "OFFLINE",
  "SERVER_ERROR",
  "RATE_LIMITED",
  "UNAUTHENTICATED",
  "FORBIDDEN",
);
const code = fc.constantFrom(1000, 1001, 1003, 1006, 1009, 1012, 4400, 4401, 4408, 4429);
const attempt = fc.integer({ min: -2, max: 0 });

/** Random inputs. Those that belong to an attempt can belong to an earlier one. */
const anything = fc.oneof(
  fc.record({ type: fc.constantFrom("start", "stop", "reconnect", "activity") }),
  fc.record({ type: fc.constantFrom("authorized", "opened", "live", "received"), attempt }),
  fc.record({ type: fc.constant("rejected"), attempt, error: word.map((one) => refusal(one)) }),
  fc.record({ type: fc.constant("closed"), attempt, code }),
  fc.record({
    type: fc.constant("page"),
    isOnline: fc.boolean(),
    isHidden: fc.boolean(),
    isFrozen: fc.boolean(),
    receivedAt: fc.constant(0),
  }),
  fc.record({ type: fc.constant("timer"), receivedAt: fc.constant(0) }),
);

describe("stepConnection: random inputs", () => {
  test("there are never two open channels, and every phase that can continue has a timer", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anything, fc.nat(60_000), fc.boolean()), { maxLength: 60 }), (inputs) => {
        const network = new FakeNetwork();
        for (const [input, ms, mayClose] of inputs) {
          network.pass(ms);
          network.mayClose = mayClose;
          // Skip inputs that can't occur: events of a channel that isn't open, and replies without a request.
          const about = "attempt" in input ? { attempt: network.state.attempt + input.attempt } : {};
          const isDue =
            input.type === "closed" || input.type === "opened"
              ? network.channel !== null
              : (input.type !== "authorized" && input.type !== "rejected") || network.isAuthorizing;
          if (isDue || ("attempt" in input && input.attempt < 0)) network.raw({ ...input, ...about });
          network.take({ type: "activity" });
          const { phase, timerAt } = network.state;
          const canWait = phase === "idle" || phase === "hidden" || phase === "closed";
          expect(timerAt !== null, `${phase} has no way on`).toBe(!canWait);
          const { hiddenSince, isFrozen } = network.state;
          if (phase === "hidden") expect(isFrozen || (hiddenSince !== null && mayClose)).toBe(true);
          if (isFrozen) expect(["idle", "hidden", "closed"]).toContain(phase);
          expect(network.channel !== null).toBe(
            phase === "opening" || phase === "open" || phase === "probing",
          );
          expect(network.isAuthorizing).toBe(phase === "authorizing");
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test("a failing server is never flooded with attempts", () => {
    const failure = fc.oneof(
      fc.record({ at: fc.constant("authorize"), word }),
      fc.record({ at: fc.constantFrom("opening", "open", "live"), code }),
    );
    fc.assert(
      fc.property(
        fc.array(failure, { minLength: 30, maxLength: 30 }),
        fc.double({ min: 0, max: 1 }),
        (all, random) => {
          const network = new FakeNetwork(() => (Number.isNaN(random) ? 0 : random)).take({ type: "start" });
          for (const one of all) {
            if (one.at === "authorize") network.reject(refusal("word" in one ? one.word : "OFFLINE"));
            else {
              network.take({ type: "authorized" });
              if (one.at !== "opening") network.take({ type: "opened" });
              if (one.at === "live") network.take({ type: "live" });
              network.take(closed("code" in one ? one.code : 1006));
            }
            if (network.state.phase === "closed") return;
            if (network.state.phase === "waiting") network.fire();
          }
          for (const [n, at] of network.authorizations.entries())
            // Two immediate requests can be a renewal of credentials. Three are never immediate.
            if (n >= 2) expect(at - (network.authorizations[n - 2] ?? 0)).toBeGreaterThanOrEqual(100);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test("the connection is open within a minute once the server is available", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anything, fc.nat(60_000)), { maxLength: 40 }), (inputs) => {
        const network = new FakeNetwork().take({ type: "start" });
        for (const [input, ms] of inputs) {
          network.pass(ms);
          const isDue = input.type === "timer" || (input.type === "rejected" && network.isAuthorizing);
          if (isDue)
            network.take(
              input.type === "timer"
                ? { type: "timer", receivedAt: 0 }
                : ({ ...input, type: "rejected" } as never),
            );
        }
        if (network.state.phase === "closed") return;
        const since = network.now;
        for (let n = 0; n < 10 && network.state.phase !== "open"; n++) {
          if (network.state.phase === "authorizing") network.take({ type: "authorized" });
          else if (network.state.phase === "opening") network.take({ type: "opened" });
          else if (network.state.phase === "probing") network.take({ type: "received" });
          else network.fire();
        }
        expect(network.state.phase).toBe("open");
        expect(network.now - since).toBeLessThan(60_000);
      }),
      { numRuns: 500 },
    );
  });
});
