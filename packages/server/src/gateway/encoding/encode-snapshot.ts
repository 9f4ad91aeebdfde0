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
import type { TimeSlicer } from "../../util/time-slicer.ts";
import { toWireBytes, toJsonWithBlobUrls, type EncodingTarget } from "./encode.ts";

type Addresses = Pick<EncodingTarget, "addressOf">;

const ITEMS_AT_ONCE = 50;

/** `{...head, "snapshot": {...}}`. @param turns how many of the newest turns */
export async function stringifyWithSnapshot(
  { run }: TimeSlicer,
  addresses: Addresses,
  head: Readonly<Record<string, unknown>>,
  state: SessionState,
  turns: number,
): Promise<string> {
  const { turns: shown, ...rest } = await run(() => snapshot(state, turns));
  const texts: string[] = [];
  for (const turn of shown) texts.push(await turnText(run, addresses, turn));
  return run(() =>
    filled(toJsonWithBlobUrls(addresses, { ...head, snapshot: { ...rest, turns: [] } }), "]}}", texts),
  );
}

async function turnText(run: TimeSlicer["run"], addresses: Addresses, turn: TurnSnapshot): Promise<string> {
  const { items, ...rest } = turn;
  const texts: string[] = [];
  for (let n = 0; n < items.length; n += ITEMS_AT_ONCE) {
    const some = items.slice(n, n + ITEMS_AT_ONCE);
    texts.push(await run(() => some.map((item) => toJsonWithBlobUrls(addresses, item)).join(",")));
  }
  return filled(toJsonWithBlobUrls(addresses, { ...rest, items: [] }), "]}", texts);
}

/** Puts the elements into the empty list with which a JSON text ends. */
function filled(text: string, ending: string, elements: readonly string[]): string {
  return text.slice(0, -ending.length) + elements.join(",") + ending;
}

/** The frame with which a native viewer begins: a snapshot of the session, written piece by piece. */
export async function encodeSnapshotFrame(
  slices: TimeSlicer,
  telling: EncodingTarget,
  state: SessionState,
  turns: number,
): Promise<Buffer> {
  const event_id = formatCursor(state);
  const isSse = telling.choice.wire === "sse";
  const head = { type: "snapshot", session_id: telling.session, ...(isSse ? {} : { event_id }) };
  const data = await stringifyWithSnapshot(slices, telling, head, state, turns);
  return slices.run(() =>
    toWireBytes(telling, isSse ? formatSse({ event: "snapshot", id: event_id, data }) : data),
  );
}
