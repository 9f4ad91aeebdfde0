/**
 * The frame with which a native viewer begins: a snapshot of the session, made turn by turn and item by item, so that a long
 * one never holds the event loop. The same JSON as in one go.
 */
import {
  formatCursor,
  formatSse,
  type SessionState,
  snapshot,
  type TurnSnapshot,
} from "@turnstream/protocol";
import { bytesOfText, jsonOf, type Telling } from "./encoding.ts";
import type { Slices } from "./slices.ts";

const ITEMS_AT_ONCE = 50;

export async function snapshotFrame(
  { run }: Slices,
  telling: Telling,
  state: SessionState,
  turns: number,
): Promise<Buffer> {
  const { turns: shown, ...rest } = snapshot(state, turns);
  const texts: string[] = [];
  for (const turn of shown) texts.push(await turnText(run, telling, turn));
  return run(() => {
    const event_id = formatCursor(state);
    const isSse = telling.choice.wire === "sse";
    const of = { type: "snapshot", session_id: telling.session, ...(isSse ? {} : { event_id }) };
    const data = filled(jsonOf(telling, { ...of, snapshot: { ...rest, turns: [] } }), "]}}", texts);
    return bytesOfText(telling, isSse ? formatSse({ event: "snapshot", id: event_id, data }) : data);
  });
}

async function turnText(run: Slices["run"], telling: Telling, turn: TurnSnapshot): Promise<string> {
  const { items, ...rest } = turn;
  const texts: string[] = [];
  for (let n = 0; n < items.length; n += ITEMS_AT_ONCE) {
    const some = items.slice(n, n + ITEMS_AT_ONCE);
    texts.push(await run(() => some.map((item) => jsonOf(telling, item)).join(",")));
  }
  return filled(jsonOf(telling, { ...rest, items: [] }), "]}", texts);
}

/** Puts the elements into the empty list with which a JSON text ends. */
function filled(text: string, ending: string, elements: readonly string[]): string {
  return text.slice(0, -ending.length) + elements.join(",") + ending;
}
