/** Every way to look at a session: each dialect over each wire that carries it. */
import type { ViewerOptions } from "@turnstream/conformance/clients/viewer.ts";

export const KINDS: readonly Pick<ViewerOptions, "dialect" | "wire">[] = [
  { dialect: "blocks", wire: "socket" },
  { dialect: "tasks", wire: "socket" },
  { dialect: "native", wire: "socket" },
  { dialect: "blocks", wire: "sse" },
  { dialect: "tasks", wire: "sse" },
  { dialect: "native", wire: "sse" },
  { dialect: "responses", wire: "sse" },
];
