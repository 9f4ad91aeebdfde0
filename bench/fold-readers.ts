/** Ways to read the frames of a turn that the benches of the fold compare. Each leaves something behind, so that no work is optimised away. */
import { createClient } from "@turnstream/client";
import { emptyState, currentInput } from "@turnstream/protocol";
import { InProcessGateway } from "./in-process-gateway.ts";

export const sink: { value: unknown } = { value: undefined };

const SESSION = "ses_market";

/** As a socket says them: with the session, since it carries many. */
export function onWire(frames: readonly string[]): string[] {
  return frames.map((frame) => `${frame.slice(0, -1)},"session_id":"${SESSION}"}`);
}

/** The floor: parse every frame and append its text to one string per block. */
export function parseAndJoin(frames: readonly string[]): void {
  const texts = new Map<string, string>();
  for (const frame of frames) {
    const event = JSON.parse(frame) as { block?: string; text?: string; args?: string };
    const text = event.text ?? event.args;
    if (event.block !== undefined && text !== undefined)
      texts.set(event.block, (texts.get(event.block) ?? "") + text);
  }
  sink.value = texts;
}

/** Reads the frames of a whole log by a client of its own, once. After each frame it looks at the newest block. */
export type ReadByClient = (frames: readonly string[]) => void;

/** Clients that are connected and have seen nothing yet. Nobody is told of changes: what that costs is the page's. */
export async function connectedClients(count: number): Promise<() => ReadByClient> {
  const readers = await Promise.all(Array.from({ length: count }, connectedClient));
  return () => {
    const reader = readers.pop();
    if (reader === undefined) throw new Error("More clients are needed than were made.");
    return reader;
  };
}

async function connectedClient(): Promise<ReadByClient> {
  const gateway = new InProcessGateway(emptyState);
  const client = createClient({
    url: "http://gateway",
    auth: () => ({ token: "token" }),
    shareTabs: false,
    env: { ...gateway.env, nextFrame: () => () => {} },
  });
  const session = client.session(SESSION);
  session.subscribe(() => {});
  while (session.getSnapshot().connection.phase !== "live")
    await new Promise((resolve) => setTimeout(resolve, 1));
  return (frames) => {
    for (const frame of frames) {
      gateway.receive(frame);
      const block = session.getSnapshot().state.turns.last()?.items.last();
      sink.value = block?.kind === "tool_call" ? currentInput(block) : block;
    }
    const status = session.getSnapshot().state.turns.last()?.status;
    if (status !== "end_turn") throw new Error(`The client has not seen the end of the turn: ${status}.`);
    client.close();
  };
}
