/**
 * `parseAndJoin` and `connectedClients` read the frames of a turn in the ways that the fold benches compare.
 *
 * Invariant: each writes its result to `sink`, so that the engine can't optimize the work away.
 */
import { createClient } from "@turnstream/client";
import { emptyState, currentInput } from "@turnstream/protocol";
import { InProcessGateway } from "./in-process-gateway.ts";

export const sink: { value: unknown } = { value: undefined };

const SESSION = "ses_market";

/** Adds the session to each frame, as on a socket that carries many sessions. */
export function onWire(frames: readonly string[]): string[] {
  return frames.map((frame) => `${frame.slice(0, -1)},"session_id":"${SESSION}"}`);
}

/** The baseline: parses every frame and appends its text to one string per block. */
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

/** Reads the frames of a whole log with a new client, once. After each frame it reads the newest block. */
export type ReadByClient = (frames: readonly string[]) => void;

/**
 * Connected clients that have received nothing yet. Their notifications never fire: that cost belongs to the page.
 */
export async function connectedClients(count: number): Promise<() => ReadByClient> {
  const readers = await Promise.all(Array.from({ length: count }, connectedClient));
  return () => {
    const reader = readers.pop();
    if (reader === undefined) throw new Error("`connectedClients` was called with too small a count.");
    return reader;
  };
}

async function connectedClient(): Promise<ReadByClient> {
  const gateway = new InProcessGateway(emptyState);
  const client = createClient({
    url: "http://gateway",
    auth: () => ({ token: "token" }),
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
    if (status !== "end_turn") throw new Error(`The turn's status must be end_turn, got ${status}.`);
    client.close();
  };
}
