/** With what a socket is closed, and the words that go along. Each is in docs/gateway.md too; a test compares them. */

export const CLOSE_CODES = {
  /** A binary frame: everything here is text. */
  binary: { code: 1003, words: "binary frames are not understood" },
  /** By `ws` itself, beyond `bodyBytes`. */
  tooLarge: { code: 1009, words: "the command is too large" },
  restart: { code: 1012, words: "the server restarts: connect again" },
  malformed: { code: 4400, words: "too many frames that are no commands" },
  unauthenticated: { code: 4401, words: "the key or token is good no longer" },
  noPong: { code: 4408, words: "no sign of life" },
  flood: { code: 4429, words: "too many commands" },
} as const;

export type CloseReason = keyof typeof CLOSE_CODES;
