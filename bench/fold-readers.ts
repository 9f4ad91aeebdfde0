/** Ways to read the frames of a turn that the benches of the fold compare. Each leaves something behind, so that no work is optimised away. */
import { emptyState, type Event, fold, inputOf, placeOf, type SessionState } from "@turnstream/protocol";

export const sink: { kept: unknown } = { kept: undefined };

/** The floor: parse every frame and append its text to one string per block. */
export function parseAndJoin(frames: readonly string[]): void {
  const texts = new Map<string, string>();
  for (const frame of frames) {
    const event = JSON.parse(frame) as { block?: string; text?: string; args?: string };
    const text = event.text ?? event.args;
    if (event.block !== undefined && text !== undefined)
      texts.set(event.block, (texts.get(event.block) ?? "") + text);
  }
  sink.kept = texts;
}

/** What a client does with each frame before anybody is told, and what a page then reads: the newest block. */
export function readAsClient(frames: readonly string[], from: SessionState = emptyState): SessionState {
  let state = from;
  for (const frame of frames) {
    const event = JSON.parse(frame) as Event;
    if (placeOf(state, event) !== "next") throw new Error(`${event.id} does not follow`);
    state = fold(state, event);
    const block = state.turns.last()?.items.last();
    sink.kept = block?.kind === "tool_call" ? inputOf(block) : block;
  }
  return state;
}
