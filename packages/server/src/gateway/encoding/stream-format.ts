/**
 * `StreamFormat` is the dialect and the wire, which a client chooses, and whether it may see hidden content.
 * `DIALECTS` lists all dialects.
 * Invariant: `formatKey` contains every field that changes the bytes, because subscribers with the same key share
 * encoded bytes, pages and initial frames. A new field must be added to it.
 */

export const DIALECTS = ["native", "blocks", "tasks", "responses"] as const;

export type DialectName = (typeof DIALECTS)[number];

export interface StreamFormat {
  readonly dialect: DialectName;
  /**
   * `socket`: WebSocket text frames, including their headers. `deflate-socket`: the same for a client that accepts
   * compressed messages. Its snapshots are compressed. `sse`: text of an event stream.
   */
  readonly wire: "socket" | "deflate-socket" | "sse";
  /** Used by `responses` only. */
  readonly includeToolTags: boolean;
  /**
   * True if the caller has the scope `debug`. Changes `native` only: the other dialects have no frames for hidden
   * blocks.
   */
  readonly includeHidden: boolean;
}

/** Returns a key that is equal for formats with the same bytes. */
export function formatKey({ dialect, wire, includeToolTags, includeHidden }: StreamFormat): string {
  const isDebug = dialect === "native" && includeHidden;
  return `${dialect} ${wire}${includeToolTags ? " tags" : ""}${isDebug ? " hidden" : ""}`;
}
