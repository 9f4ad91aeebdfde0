/** Tests that a client leaves the sessions of the previous user when another user signs in. */
import { expect, test } from "vitest";
import { emptyState } from "@turnstream/protocol";
import { shortWaits } from "./fast-env.ts";
import { LiveGateway, isLive, isOver, until } from "./live-gateway.ts";

const CHANNELS = ["websocket", "sse"] as const;

test.for(CHANNELS)(
  "over a %s, the connection of the previous user is not used for the next user",
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
    user = "other-user";
    isRefused = true;
    // Any request gets the token of the next user. The connection itself had no problem.
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
