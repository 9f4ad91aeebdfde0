/**
 * `StreamFormat` is what a client chooses: the dialect and the wire. Subscribers with the same format share encoded
 * bytes.
 */

export const DIALECTS = ["native", "blocks", "tasks", "responses"] as const;

export type DialectName = (typeof DIALECTS)[number];

export interface StreamFormat {
  readonly dialect: DialectName;
  /** `socket`: WebSocket text frames, including their headers. `sse`: text of an event stream. */
  readonly wire: "socket" | "sse";
  /** Used by `responses` only. */
  readonly includeToolTags: boolean;
}

/** Returns a key that is equal for formats with the same bytes. */
export function formatKey({ dialect, wire, includeToolTags }: StreamFormat): string {
  return `${dialect} ${wire}${includeToolTags ? " tags" : ""}`;
}
