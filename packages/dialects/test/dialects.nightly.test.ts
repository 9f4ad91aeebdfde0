/** Tests sessions with another dialect through restarts, stops, and messages that are written before a connection. */
import { describe, expect, test } from "vitest";
import { createServer } from "../../server/src/gateway/create-server.ts";
import { LiveGateway, isLive, until } from "../../client/test/live/live-gateway.ts";
import { CASES, ended, sizeOf, truth, turns } from "./dialect-cases.ts";

describe.for(CASES)("$dialect.name over a $channels", ({ dialect, channels, erase }) => {
  test("sends a message that was written before the session was live", async () => {
    const gateway = await LiveGateway.open();
    const session = gateway.client({ dialect, channels }).session((await gateway.stage.session()).session);
    session.subscribe(() => {});
    session.send({ text: "early" });
    const { state } = await until(session, "answered", turns(1));
    expect(erase(state)).toEqual(erase(await truth(gateway, session)));
  });

  test("resumes after the server has restarted", async () => {
    const gateway = await LiveGateway.open();
    const session = gateway.client({ dialect, channels }).session((await gateway.stage.session()).session);
    await until(session, "live", isLive);
    session.send({ text: "long" });
    await until(session, "some of it", (view) => sizeOf(view) > 1_500);
    const { server, secrets, url } = gateway.server;
    await server.close();
    const next = createServer({ ...gateway.stage.backend, secrets });
    try {
      await next.listen(Number(new URL(url).port));
      const { state } = await until(session, "answered", turns(1));
      expect(erase(state)).toEqual(erase(await truth(gateway, session)));
    } finally {
      await next.close();
    }
  });

  test("stops a turn", async () => {
    const gateway = await LiveGateway.open();
    const session = gateway.client({ dialect, channels }).session((await gateway.stage.session()).session);
    await until(session, "live", isLive);
    session.send({ text: "slow" });
    await until(session, "running", (view) => view.state.turns.last()?.status === "running");
    await session.stop();
    const { state } = await until(session, "stopped", ended);
    expect(state.turns.last()?.status).toBe("user_stopped");
  });
});
