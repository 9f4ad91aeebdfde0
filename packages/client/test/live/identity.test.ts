/** Somebody else signs in while a client lives: what was open for the one before is left. */
import { expect, test } from "vitest";
import { emptyState } from "@turnstream/protocol";
import { shortWaits } from "./fast-env.ts";
import { LiveGateway, isLive, isOver, until } from "./live-gateway.ts";

const CHANNELS = ["websocket", "sse"] as const;

test.for(CHANNELS)(
  "over a %s, nothing goes on over the connection of who was here before",
  async (channel) => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    let user = gateway.stage.actor.user;
    let isRefused = false;
    const env = {
      ...shortWaits,
      fetch: (async (...args) => {
        if (!isRefused) return fetch(...args);
        isRefused = false;
        return new Response(null, { status: 401 });
      }) as typeof fetch,
    };
    const auth = async () => ({ token: await gateway.token({ user }) });
    const client = gateway.client({ channels: [channel], env, auth });
    const session = client.session(ref.session);
    session.subscribe(() => {});
    await until(session, "live", isLive);
    session.send({ text: "mine" });
    await until(session, "answered", isOver("mine"));
    user = "somebody-else";
    isRefused = true;
    // Their token is asked for by any request; the connection itself was fine.
    expect((await client.listSessions()).sessions).toEqual([]);
    const { state, connection } = await until(
      session,
      "refused",
      (view) => view.connection.phase === "closed",
    );
    expect([state, connection.error?.code]).toEqual([emptyState, "NOT_FOUND"]);
    const own = client.session((await client.createSession()).id);
    await until(own, "live", isLive);
    own.send({ text: "theirs" });
    await until(own, "answered", isOver("theirs"));
  },
);
