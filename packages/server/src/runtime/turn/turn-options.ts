/** `parseTurnOptions` reads the turn options of a message. They come from clients, so invalid values are ignored. */
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
