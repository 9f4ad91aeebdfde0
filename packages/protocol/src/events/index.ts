/**
 * `eventSchemas` is the table of all canonical events.
 * Invariant: each event is declared once, and all event types derive from this table. Import it as a value only to
 * validate events, because it pulls in the schema library.
 */
import { z } from "zod";
import type { Immutable } from "../json.ts";
import { blockEvents } from "./blocks.ts";
import { interactionEvents } from "./interactions.ts";
import { lifecycleEvents } from "./lifecycle.ts";

export const eventSchemas = { ...lifecycleEvents, ...blockEvents, ...interactionEvents };

type EventType = keyof typeof eventSchemas;
export type EventOf<T extends EventType> = T extends EventType
  ? Immutable<z.infer<(typeof eventSchemas)[T]>>
  : never;
export type SessionEvent = EventOf<EventType>;

type Unstamped<E> = E extends SessionEvent ? Omit<E, "v" | "id" | "at" | "first"> : never;
/** An event before its writer adds version and time, and the log adds a position. */
export type EventDraft = Unstamped<SessionEvent>;

const options = Object.values(eventSchemas) as unknown as readonly [z.ZodObject, ...z.ZodObject[]];

/** The schema of all events, discriminated by `type`. */
export const eventSchema = z.discriminatedUnion("type", options) as unknown as z.ZodType<SessionEvent>;
