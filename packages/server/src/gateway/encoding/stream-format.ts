/** What a client can choose: the dialect, and the wire. Bytes are made once for each format. */

export const DIALECTS = ["native", "blocks", "tasks", "responses"] as const;

export type DialectName = (typeof DIALECTS)[number];

export interface StreamFormat {
  readonly dialect: DialectName;
  /** `socket`: WebSocket text frames, headers included. `sse`: the text of an event stream. */
  readonly wire: "socket" | "sse";
  /** Only `responses` knows it. */
  readonly includeToolTags: boolean;
}

/** The same text for the same bytes. */
export function formatKey({ dialect, wire, includeToolTags }: StreamFormat): string {
  return `${dialect} ${wire}${includeToolTags ? " tags" : ""}`;
}
