/** Tests a token that expires again and again: its client renews it and misses nothing. It waits for the clock. */
import { describe, expect, test } from "vitest";
import { shortWaits } from "./fast-env.ts";
import { LiveGateway, isLive, isOver, until } from "./live-gateway.ts";
import { CHANNELS, expectWhole, seenBy } from "./seen-views.ts";

describe.for(CHANNELS)("over a %s", (channel) => {
  test("an expired token is renewed without a resync", async () => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    let asked = 0;
    const auth = async () => {
      asked += 1;
      return { token: await gateway.token({ ms: 5_000 }) };
    };
    const session = gateway.client({ channels: [channel], auth, env: shortWaits }).session(ref.session);
    const { views, phases } = seenBy(session);
    await until(session, "live", isLive);
    for (let n = 0; n < 2; n++) {
      await until(session, "let go", ({ connection }) => connection.phase === "waiting");
      await gateway.stage.ask(ref, `while away ${n}`);
      await until(session, "back", (view) => isLive(view) && isOver(`while away ${n}`)(view));
    }
    expect(asked).toBeGreaterThan(2);
    expect(phases()).not.toContain("resyncing");
    await expectWhole(gateway, ref, session, views);
  });
});
