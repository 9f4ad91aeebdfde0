/**
 * `encodeSnapshotFrame` and `stringifyWithSnapshot` encode a snapshot of a session in slices, item by item, so that a
 * long snapshot does not block the event loop.
 * Invariant: the output is the same JSON as from one `JSON.stringify`. So `turns` and `items` must be the last
 * property of their object, where the elements are inserted. Blob references become URLs, as in every frame. Without
 * `includeHidden`, it has no hidden content.
 */
import { formatCursor, type SessionState, snapshot, type TurnSnapshot } from "@turnstream/protocol";
import { formatSse, omitHiddenTurn } from "@turnstream/protocol/writer";
import type { TimeSlicer } from "../../util/time-slicer.ts";
import { toWireBytes, toJsonWithBlobUrls, type EncodingTarget } from "./encode.ts";
import { encodeCompressedFrame } from "./ws-frame.ts";

type BlobUrls = Pick<EncodingTarget, "resolveBlobUrl">;
type SnapshotTarget = BlobUrls & Pick<EncodingTarget["format"], "includeHidden">;

const ITEMS_PER_SLICE = 50;
/** A shorter snapshot costs more time to compress than to send. */
const COMPRESSED_FROM_LENGTH = 4_096;

/**
 * Returns `{...head, "snapshot": {...}}`.
 * @param turns the number of newest turns to include
 */
export async function stringifyWithSnapshot(
  { run }: TimeSlicer,
  target: SnapshotTarget,
  head: Readonly<Record<string, unknown>>,
  state: SessionState,
  turns: number,
): Promise<string> {
  const { turns: snapshotTurns, ...rest } = await run(() => snapshot(state, turns));
  const texts: string[] = [];
  for (const turn of snapshotTurns) texts.push(await stringifyTurn(run, target, turn));
  return run(() =>
    fillEmptyList(toJsonWithBlobUrls(target, { ...head, snapshot: { ...rest, turns: [] } }), "]}}", texts),
  );
}

async function stringifyTurn(
  run: TimeSlicer["run"],
  target: SnapshotTarget,
  turn: TurnSnapshot,
): Promise<string> {
  const { items, ...rest } = target.includeHidden ? turn : await run(() => omitHiddenTurn(turn));
  const texts: string[] = [];
  for (let n = 0; n < items.length; n += ITEMS_PER_SLICE) {
    const batch = items.slice(n, n + ITEMS_PER_SLICE);
    texts.push(await run(() => batch.map((item) => toJsonWithBlobUrls(target, item)).join(",")));
  }
  return fillEmptyList(toJsonWithBlobUrls(target, { ...rest, items: [] }), "]}", texts);
}

/** Inserts the elements into the empty list at the end of a JSON text. */
function fillEmptyList(text: string, ending: string, elements: readonly string[]): string {
  return text.slice(0, -ending.length) + elements.join(",") + ending;
}

/** Encodes the first frame of a native subscription: the snapshot of the session. */
export async function encodeSnapshotFrame(
  slices: TimeSlicer,
  target: EncodingTarget,
  state: SessionState,
  turns: number,
): Promise<Buffer> {
  const event_id = formatCursor(state);
  const { wire } = target.format;
  const isSse = wire === "sse";
  const head = { type: "snapshot", session_id: target.session, ...(isSse ? {} : { event_id }) };
  const { resolveBlobUrl, format } = target;
  const visible = { resolveBlobUrl, includeHidden: format.includeHidden };
  const data = await stringifyWithSnapshot(slices, visible, head, state, turns);
  if (wire === "deflate-socket" && data.length >= COMPRESSED_FROM_LENGTH) return encodeCompressedFrame(data);
  return slices.run(() =>
    toWireBytes(target, isSse ? formatSse({ event: "snapshot", id: event_id, data }) : data),
  );
}
