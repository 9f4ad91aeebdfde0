/**
 * `turnstream` renders our thread with default settings, with a real client whose socket receives frames from the page.
 */
import { createClient } from "@turnstream/client";
import { foldAll } from "@turnstream/protocol";
import { SessionProvider, Thread } from "@turnstream/react";
import "@turnstream/react/styles.css";
import { InProcessGateway } from "../in-process-gateway.ts";
import type { CreateTarget } from "./target.ts";

export const turnstream: CreateTarget = ({ before, turn }) => {
  const state = foldAll(before);
  const gateway = new InProcessGateway(state);
  const client = createClient({
    url: location.origin,
    auth: () => ({ token: "token" }),
    env: gateway.env,
  });
  const session = client.session(state.session);
  return {
    node: (
      <SessionProvider session={session}>
        <Thread />
      </SessionProvider>
    ),
    frames: turn.map((event) => JSON.stringify({ ...event, session_id: state.session })),
    isReady: () => session.getSnapshot().connection.phase === "live",
    begin() {},
    receive: (frame) => gateway.receive(frame),
  };
};
