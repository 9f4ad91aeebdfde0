/**
 * `parseTurnOptions` reads the turn options of a message. Pure.
 *
 * Invariant: the options come from clients, so invalid values are ignored and never fail a turn. The agent may be
 * unknown to this worker.
 */
import type { Json } from "@turnstream/protocol";

export interface TurnOptions {
  readonly agent?: string;
  readonly mode?: "agent" | "chat";
  readonly fromShare?: boolean;
}

export function parseTurnOptions(options: Json): TurnOptions {
  if (options === null || typeof options !== "object" || Array.isArray(options)) return {};
  const { agent, mode, fromShare } = options as Record<string, Json>;
  return {
    ...(typeof agent === "string" ? { agent } : {}),
    ...(mode === "agent" || mode === "chat" ? { mode } : {}),
    ...(typeof fromShare === "boolean" ? { fromShare } : {}),
  };
}
