/**
 * `CLOSE_CODES` lists the codes and reasons with which the gateway closes sockets. Constants only.
 * Invariant: clients decide by the code whether to reconnect, so a code never changes its meaning. docs/gateway.md
 * lists the same codes; a test compares both.
 */

export const CLOSE_CODES = {
  /** A binary frame. All frames must be text. */
  binary: { code: 1003, reason: "binary frames are not supported" },
  /** Sent by `ws` itself if a frame exceeds `maxBodyBytes`. */
  tooLarge: { code: 1009, reason: "the command is too large" },
  serverRestart: { code: 1012, reason: "the server restarts: reconnect" },
  malformed: { code: 4400, reason: "too many invalid commands" },
  unauthenticated: { code: 4401, reason: "the key or token is no longer valid" },
  noPong: { code: 4408, reason: "no pong received" },
  flood: { code: 4429, reason: "too many commands" },
} as const;

export type CloseReason = keyof typeof CLOSE_CODES;
