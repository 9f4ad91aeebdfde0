/**
 * `parseTurnOptions` reads the turn options of a message. Pure.
 *
 * Invariant: the options come from clients, so invalid values are ignored and never fail a turn. The agent may be
 * unknown to this worker.
 */
import { canonicalLocale, type Json } from "@turnstream/protocol";

export interface TurnOptions {
  readonly agent?: string;
  readonly mode?: "agent" | "chat";
  /** The language of the user, in canonical form. */
  readonly locale?: string;
}

export function parseTurnOptions(options: Json): TurnOptions {
  if (options === null || typeof options !== "object" || Array.isArray(options)) return {};
  const { agent, mode, locale } = options as Record<string, Json>;
  const tag = typeof locale === "string" ? canonicalLocale(locale) : null;
  return {
    ...(typeof agent === "string" ? { agent } : {}),
    ...(mode === "agent" || mode === "chat" ? { mode } : {}),
    ...(tag === null ? {} : { locale: tag }),
  };
}
