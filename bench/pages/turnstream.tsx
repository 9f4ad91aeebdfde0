/** Ours: the thread as it comes, over a real client whose socket is fed by the page. */
import { createClient } from "@turnstream/client";
import { foldAll } from "@turnstream/protocol";
import { SessionProvider, Thread } from "@turnstream/react";
import "@turnstream/react/styles.css";
import { FedGateway } from "../in-process-gateway.ts";
import type { MakeSubject } from "./target.ts";

export const turnstream: MakeSubject = ({ before, turn }) => {
  const state = foldAll(before);
  const gateway = new FedGateway(state);
  const client = createClient({
    url: location.origin,
    auth: () => ({ token: "token" }),
    shareTabs: false,
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
    hear: (frame) => gateway.hear(frame),
  };
};
