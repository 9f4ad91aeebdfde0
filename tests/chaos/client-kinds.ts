/** `CLIENT_KINDS` lists every dialect with every wire that carries it. */
import type { SessionClientOptions } from "@turnstream/conformance/clients/session-client.ts";

export const CLIENT_KINDS: readonly Pick<SessionClientOptions, "dialect" | "wire">[] = [
  { dialect: "blocks", wire: "socket" },
  { dialect: "tasks", wire: "socket" },
  { dialect: "native", wire: "socket" },
  { dialect: "blocks", wire: "sse" },
  { dialect: "tasks", wire: "sse" },
  { dialect: "native", wire: "sse" },
  { dialect: "responses", wire: "sse" },
];
