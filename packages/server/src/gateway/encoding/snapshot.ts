/**
 * JSON that ends with a snapshot of a session, written turn by turn and item by item, so that a long one never holds the
 * event loop. The same JSON as in one go.
 */
import {
  formatCursor,
  formatSse,
  type SessionState,
  snapshot,
  type TurnSnapshot,
} from "@turnstream/protocol";
import type { Slices } from "../../util/time-slicer.ts";
import { bytesOfText, jsonOf, type Telling } from "./encode.ts";

type Addresses = Pick<Telling, "addressOf">;

const ITEMS_AT_ONCE = 50;

/** `{...head, "snapshot": {...}}`. @param turns how many of the newest turns */
export async function withSnapshot(
  { run }: Slices,
  addresses: Addresses,
  head: Readonly<Record<string, unknown>>,
  state: SessionState,
  turns: number,
): Promise<string> {
  const { turns: shown, ...rest } = await run(() => snapshot(state, turns));
  const texts: string[] = [];
  for (const turn of shown) texts.push(await turnText(run, addresses, turn));
  return run(() => filled(jsonOf(addresses, { ...head, snapshot: { ...rest, turns: [] } }), "]}}", texts));
}

async function turnText(run: Slices["run"], addresses: Addresses, turn: TurnSnapshot): Promise<string> {
  const { items, ...rest } = turn;
  const texts: string[] = [];
  for (let n = 0; n < items.length; n += ITEMS_AT_ONCE) {
    const some = items.slice(n, n + ITEMS_AT_ONCE);
    texts.push(await run(() => some.map((item) => jsonOf(addresses, item)).join(",")));
  }
  return filled(jsonOf(addresses, { ...rest, items: [] }), "]}", texts);
}

/** Puts the elements into the empty list with which a JSON text ends. */
function filled(text: string, ending: string, elements: readonly string[]): string {
  return text.slice(0, -ending.length) + elements.join(",") + ending;
}

/** The frame with which a native viewer begins: a snapshot of the session, written piece by piece. */
export async function snapshotFrame(
  slices: Slices,
  telling: Telling,
  state: SessionState,
  turns: number,
): Promise<Buffer> {
  const event_id = formatCursor(state);
  const isSse = telling.choice.wire === "sse";
  const head = { type: "snapshot", session_id: telling.session, ...(isSse ? {} : { event_id }) };
  const data = await withSnapshot(slices, telling, head, state, turns);
  return slices.run(() =>
    bytesOfText(telling, isSse ? formatSse({ event: "snapshot", id: event_id, data }) : data),
  );
}
