/** The connection machine: every state, every way out of it, and what holds whatever happens. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ClientError, type ClientErrorWord } from "../../src/errors.ts";
import { PACE } from "../../src/transport/timing.ts";
import { World } from "./fake-network.ts";

const refusal = (code: ClientErrorWord, retryAfterSeconds?: number): ClientError =>
  new ClientError(code, code, retryAfterSeconds === undefined ? {} : { retryAfterSeconds });
const closed = (code: number) => ({ type: "closed", code }) as const;

describe("getting in", () => {
  test("asks, opens a socket, and is open", () => {
    const world = new World().take({ type: "start" });
    expect([world.state.phase, world.lastEffects()]).toEqual(["asking", ["ask"]]);
    world.take({ type: "admitted" });
    expect([world.state.phase, world.wire]).toEqual(["opening", "socket"]);
    world.take({ type: "opened" });
    expect(world.state.phase).toBe("open");
  });

  test("waits longer each time, up to half a minute, and never all at the same moment", () => {
    const waits = [0, 1].map((random) => {
      const world = new World(() => random).take({ type: "start" });
      return Array.from({ length: 9 }, () => {
        world.refuse(refusal("OFFLINE"));
        const ms = (world.state.timerAt ?? 0) - world.now;
        world.fire();
        return ms;
      });
    });
    expect(waits[1]).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    expect(waits[0]).toEqual(waits[1]?.map((ms) => ms / 2));
  });

  test("waits as long as a server says", () => {
    const world = new World().take({ type: "start" }).refuse(refusal("RATE_LIMITED", 20));
    expect((world.state.timerAt ?? 0) - world.now).toBe(20_000);
  });

  test("credentials that are refused are asked for anew, once", () => {
    const world = new World().take({ type: "start" });
    world.lastEffects();
    world.refuse(refusal("UNAUTHENTICATED"));
    expect(world.effects).toMatchObject([{ type: "ask", renew: true }]);
    world.refuse(refusal("UNAUTHENTICATED"));
    expect(world.state).toMatchObject({ phase: "closed", error: { code: "UNAUTHENTICATED" } });
    expect(world.state.timerAt).toBeNull();
    world.take({ type: "again" });
    expect(world.state.phase).toBe("asking");
  });

  test.for(["FORBIDDEN", "NOT_FOUND", "BAD_REQUEST"] as const)("%s is for good, and explained", (code) => {
    const world = new World().take({ type: "start" }).refuse(refusal(code));
    expect(world.state).toMatchObject({ phase: "closed", error: { code } });
  });

  test("no answer at all is a failure", () => {
    const world = new World().take({ type: "start" }).fire();
    expect([world.state.phase, world.state.failures]).toEqual(["waiting", 1]);
    expect(world.lastEffects()).toEqual(["ask", "drop"]);
  });
});

const shut = (world: World): World => world.take({ type: "admitted" }).take(closed(1006)).fire();

/** What is opened after two sockets that were open and were cut. */
function nextAfterCuts(code: number, isHeard: boolean): string | null {
  const world = new World().take({ type: "start" });
  for (let n = 0; n < 2; n++) {
    world.take({ type: "admitted" }).take({ type: "opened" });
    if (isHeard) world.take({ type: "heard" });
    world.take(closed(code)).fire();
  }
  return world.take({ type: "admitted" }).wire;
}

describe("where sockets don't pass", () => {
  test("event streams are used after the second, and sockets again after a while", () => {
    const world = shut(shut(new World().take({ type: "start" }))).take({ type: "admitted" });
    expect(world.wire).toBe("stream");
    world
      .take({ type: "opened" })
      .take({ type: "live" })
      .take(closed(1006))
      .fire()
      .take({ type: "admitted" });
    expect(world.wire).toBe("stream");
    world.take({ type: "opened" }).take({ type: "live" }).pass(PACE.streamsForMs);
    world.take(closed(1006)).fire().take({ type: "admitted" });
    expect(world.wire).toBe("socket");
    // Once more is enough to know.
    world.take(closed(1006)).fire().take({ type: "admitted" });
    expect(world.wire).toBe("stream");
  });

  test("a socket that neither opens nor fails counts too", () => {
    const world = new World().take({ type: "start" }).take({ type: "admitted" }).fire().fire();
    world.take({ type: "admitted" }).fire().fire().take({ type: "admitted" });
    expect(world.wire).toBe("stream");
  });

  test("one that opens and over which nothing comes counts too, and is known sooner than one that fell silent", () => {
    const world = new World().take({ type: "start" });
    const since = world.now;
    for (let n = 0; n < 2; n++) {
      world.take({ type: "admitted" }).take({ type: "opened" });
      while (world.state.phase !== "waiting") world.fire();
      world.fire();
    }
    expect(world.now - since).toBeLessThan(PACE.quietMs * 2);
    expect(world.take({ type: "admitted" }).wire).toBe("stream");
  });

  test("so does one that opens and is cut before anything came; a word of the server's is something", () => {
    expect([nextAfterCuts(1006, false), nextAfterCuts(1006, true), nextAfterCuts(1012, false)]).toEqual([
      "stream",
      "socket",
      "socket",
    ]);
  });

  test("one that was live has shown that they pass", () => {
    const world = shut(new World().take({ type: "start" })).take({ type: "admitted" });
    world.take({ type: "opened" }).take({ type: "live" }).take(closed(1006)).fire();
    expect(shut(world).take({ type: "admitted" }).wire).toBe("socket");
  });

  test("a page that is seen again after a while goes back to sockets; one that was just seen doesn't", () => {
    const world = shut(shut(new World().take({ type: "start" }))).take({ type: "admitted" });
    world.take({ type: "opened" }).take({ type: "live" });
    world.outside(true, true).outside(true, false);
    expect(world.wire).toBe("stream");
    world.outside(true, true).pass(PACE.streamsForMs);
    world.heardAt = world.now;
    world.outside(true, false).take({ type: "admitted" });
    expect(world.wire).toBe("socket");
  });

  test("another network may let them pass", () => {
    const world = shut(shut(new World().take({ type: "start" })));
    world.outside(false, false).outside(true, false).take({ type: "admitted" });
    expect(world.wire).toBe("socket");
  });

  test("nothing else is tried where only one is wanted", () => {
    const world = new World(undefined, ["socket"]).take({ type: "start" });
    shut(shut(shut(world))).take({ type: "admitted" });
    expect(world.wire).toBe("socket");
  });
});

describe("a connection that is lost", () => {
  test("comes back at once the first time, and slower when it doesn't last", () => {
    const world = new World(() => 0).live();
    const waits = Array.from({ length: 5 }, () => {
      world.take(closed(1006));
      const ms = (world.state.timerAt ?? 0) - world.now;
      world.fire().take({ type: "admitted" }).take({ type: "opened" }).take({ type: "live" });
      return ms;
    });
    expect(waits).toEqual([100, 100, 250, 500, 1_000]);
    world.pass(PACE.shortMs).take(closed(1006));
    expect((world.state.timerAt ?? 0) - world.now).toBe(100);
    expect(world.state.failures).toBe(0);
  });

  test("1012: everybody comes back at another moment", () => {
    const at = [0, 1].map((random) => {
      const world = new World(() => random).live().take(closed(1012));
      return (world.state.timerAt ?? 0) - world.now;
    });
    expect(at).toEqual([500, 3_000]);
    const told = new World().live().take({ type: "closed", code: 1012, retryAfterMs: 9_000 });
    expect((told.state.timerAt ?? 0) - told.now).toBe(9_000);
  });

  test("1012 again and again, before anything came, is not stormed", () => {
    const world = new World().live();
    const waits = Array.from({ length: 8 }, () => {
      world.take(closed(1012));
      const ms = (world.state.timerAt ?? 0) - world.now;
      world.fire().take({ type: "admitted" }).take({ type: "opened" });
      return ms;
    });
    expect(waits.at(-1)).toBeGreaterThan(10_000);
  });

  test("4401: asks for credentials anew; refused again before anything came, it is closed", () => {
    const world = new World().live().take(closed(4401)).fire();
    expect(world.effects.at(-1)).toMatchObject({ type: "ask", renew: true });
    world.take({ type: "admitted" }).take({ type: "opened" }).take(closed(4401));
    expect(world.state).toMatchObject({ phase: "closed", error: { code: "UNAUTHENTICATED" } });
  });

  test("4401 of a token that was good for a while is asked anew each time", () => {
    const world = new World().live();
    for (let n = 0; n < 3; n++) {
      world.take(closed(4401)).fire();
      expect(world.effects.at(-1)).toMatchObject({ type: "ask", renew: true });
      world.take({ type: "admitted" }).take({ type: "opened" }).take({ type: "live" });
    }
  });

  test.for([
    [4400, "BAD_REQUEST"],
    [1003, "BAD_REQUEST"],
    [1009, "TOO_LARGE"],
  ] as const)("%i is for good, and explained as %s", ([code, word]) => {
    expect(new World().live().take(closed(code)).state).toMatchObject({
      phase: "closed",
      error: { code: word },
    });
  });

  test("4429: not before five seconds", () => {
    const world = new World().live().take(closed(4429));
    expect((world.state.timerAt ?? 0) - world.now).toBeGreaterThanOrEqual(5_000);
  });
});

describe("silence", () => {
  test("is asked about though the clock was put back by an hour", () => {
    const world = new World().live();
    world.now -= 3_600_000;
    world.take({ type: "timer", heardAt: world.heardAt });
    expect(world.state.phase).toBe("probing");
  });

  test("is asked about, and an answer is enough", () => {
    const world = new World().live().fire();
    expect(world.state.phase).toBe("probing");
    expect(world.lastEffects().at(-1)).toBe("probe");
    world.take({ type: "heard" });
    expect(world.state.phase).toBe("open");
  });

  test("without an answer it is lost", () => {
    const world = new World().live().pass(60_000).fire().fire();
    expect(world.state).toMatchObject({ phase: "waiting", error: { code: "OFFLINE" } });
    expect(world.wire).toBeNull();
  });

  test("is not silence when something came meanwhile", () => {
    const world = new World().live();
    world.heardAt = world.now + PACE.quietMs - 1_000;
    world.fire();
    expect(world.state).toMatchObject({ phase: "open", timerAt: world.heardAt + PACE.quietMs });
  });

  test("is not asked about while nobody looks, but at once when somebody does", () => {
    const world = new World().live().outside(true, true).fire();
    expect(world.state.phase).toBe("open");
    world.outside(true, false);
    expect(world.state.phase).toBe("probing");
  });

  test("of an event stream, which says something every 15 seconds, is the end of it", () => {
    const world = new World(undefined, ["stream"]).live().pass(60_000).fire();
    expect(world.state.phase).toBe("waiting");
  });

  test.for(["socket", "stream"] as const)(
    "U08: of a %s to a server that knows only the documents, is suffered for 180 seconds",
    (wire) => {
      const world = new World(undefined, [wire]);
      world.isForeign = true;
      const start = world.live().now;
      while (world.wire !== null) world.fire();
      expect(world.now - start).toBe(PACE.foreignQuietMs);
    },
  );

  test("U08: a turn that is silent for 180 seconds is no reason to leave, as long as the server answers", () => {
    const world = new World().live();
    const start = world.now;
    while (world.now - start < 180_000) {
      world.fire();
      if (world.state.phase === "probing") {
        world.heardAt = world.now;
        world.take({ type: "heard" });
      }
    }
    expect(world.asks.length).toBe(1);
    expect(world.wire).toBe("socket");
  });
});

describe("the machine it runs on", () => {
  test("without a network it is offline, and back at once with one", () => {
    const world = new World().live().outside(false, false);
    expect([world.state.phase, world.wire]).toEqual(["offline", null]);
    world.outside(true, false);
    expect(world.state.phase).toBe("asking");
  });

  test("tries now and then though the machine says it has no network", () => {
    const world = new World().live().outside(false, false).fire();
    expect(world.state.phase).toBe("asking");
    world.refuse(refusal("OFFLINE"));
    expect(world.state.phase).toBe("offline");
  });

  test("whoever looks again doesn't wait", () => {
    const world = new World().take({ type: "start" });
    for (let n = 0; n < 8; n++) world.refuse(refusal("OFFLINE")).fire();
    world.refuse(refusal("OFFLINE")).outside(true, true).outside(true, false);
    expect(world.state.phase).toBe("asking");
  });

  test("is left alone once nobody wants it", () => {
    const world = new World().live().take({ type: "stop" });
    expect([world.state.phase, world.state.timerAt, world.wire]).toEqual(["idle", null, null]);
  });
});

const word = fc.constantFrom<ClientErrorWord>(
  "OFFLINE",
  "SERVER_ERROR",
  "RATE_LIMITED",
  "UNAUTHENTICATED",
  "FORBIDDEN",
);
const code = fc.constantFrom(1000, 1001, 1003, 1006, 1009, 1012, 4400, 4401, 4408, 4429);
const attempt = fc.integer({ min: -2, max: 0 });

/** Anything at any moment; what is about an attempt may be late. */
const anything = fc.oneof(
  fc.record({ type: fc.constantFrom("start", "stop", "again") }),
  fc.record({ type: fc.constantFrom("admitted", "opened", "live", "heard"), attempt }),
  fc.record({ type: fc.constant("refused"), attempt, error: word.map((one) => refusal(one)) }),
  fc.record({ type: fc.constant("closed"), attempt, code }),
  fc.record({
    type: fc.constant("outside"),
    isOnline: fc.boolean(),
    isHidden: fc.boolean(),
    heardAt: fc.constant(0),
  }),
  fc.record({ type: fc.constant("timer"), heardAt: fc.constant(0) }),
);

describe("whatever happens", () => {
  test("never two wires at once, and never stuck", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anything, fc.nat(60_000)), { maxLength: 60 }), (inputs) => {
        const world = new World();
        for (const [input, ms] of inputs) {
          world.pass(ms);
          // A wire that isn't there says nothing, and nothing is admitted that wasn't asked for.
          const about = "attempt" in input ? { attempt: world.state.attempt + input.attempt } : {};
          const isDue =
            input.type === "closed" || input.type === "opened"
              ? world.wire !== null
              : (input.type !== "admitted" && input.type !== "refused") || world.isAsking;
          if (isDue || ("attempt" in input && input.attempt < 0)) world.raw({ ...input, ...about });
          const { phase, timerAt } = world.state;
          expect(timerAt !== null, `${phase} has no way on`).toBe(phase !== "idle" && phase !== "closed");
          expect(world.wire !== null).toBe(phase === "opening" || phase === "open" || phase === "probing");
          expect(world.isAsking).toBe(phase === "asking");
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test("a server that fails in any way is not stormed", () => {
    const failure = fc.oneof(
      fc.record({ at: fc.constant("ask"), word }),
      fc.record({ at: fc.constantFrom("opening", "open", "live"), code }),
    );
    fc.assert(
      fc.property(
        fc.array(failure, { minLength: 30, maxLength: 30 }),
        fc.double({ min: 0, max: 1 }),
        (all, random) => {
          const world = new World(() => (Number.isNaN(random) ? 0 : random)).take({ type: "start" });
          for (const one of all) {
            if (one.at === "ask") world.refuse(refusal("word" in one ? one.word : "OFFLINE"));
            else {
              world.take({ type: "admitted" });
              if (one.at !== "opening") world.take({ type: "opened" });
              if (one.at === "live") world.take({ type: "live" });
              world.take(closed("code" in one ? one.code : 1006));
            }
            if (world.state.phase === "closed") return;
            if (world.state.phase === "waiting") world.fire();
          }
          for (const [n, at] of world.asks.entries())
            // Two in a row may be the refresh of credentials; three never are at once.
            if (n >= 2) expect(at - (world.asks[n - 2] ?? 0)).toBeGreaterThanOrEqual(100);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test("as soon as the server is there again it is open within a minute", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anything, fc.nat(60_000)), { maxLength: 40 }), (inputs) => {
        const world = new World().take({ type: "start" });
        for (const [input, ms] of inputs) {
          world.pass(ms);
          const isDue = input.type === "timer" || (input.type === "refused" && world.isAsking);
          if (isDue)
            world.take(
              input.type === "timer"
                ? { type: "timer", heardAt: 0 }
                : ({ ...input, type: "refused" } as never),
            );
        }
        if (world.state.phase === "closed") return;
        const since = world.now;
        for (let n = 0; n < 10 && world.state.phase !== "open"; n++) {
          if (world.state.phase === "asking") world.take({ type: "admitted" });
          else if (world.state.phase === "opening") world.take({ type: "opened" });
          else if (world.state.phase === "probing") world.take({ type: "heard" });
          else world.fire();
        }
        expect(world.state.phase).toBe("open");
        expect(world.now - since).toBeLessThan(60_000);
      }),
      { numRuns: 500 },
    );
  });
});
