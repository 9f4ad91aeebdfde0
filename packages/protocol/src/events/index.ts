/**
 * Every canonical event, each declared once; all event types derive from this table.
 * Import it as a value only where events are validated: it brings the schema library along.
 */
import { z } from "zod";
import type { Immutable } from "../json.ts";
import { blockEvents } from "./blocks.ts";
import { interactionEvents } from "./interactions.ts";
import { lifecycleEvents } from "./lifecycle.ts";

export const eventSchemas = { ...lifecycleEvents, ...blockEvents, ...interactionEvents };

export type EventType = keyof typeof eventSchemas;
export type EventOf<T extends EventType> = T extends EventType
  ? Immutable<z.infer<(typeof eventSchemas)[T]>>
  : never;
export type SessionEvent = EventOf<EventType>;

type Unstamped<E> = E extends SessionEvent ? Omit<E, "v" | "id" | "at" | "first"> : never;
/** What an event says, before its writer has stamped it with version and time, and the log with a position. */
export type EventDraft = Unstamped<SessionEvent>;

const options = Object.values(eventSchemas) as unknown as readonly [z.ZodObject, ...z.ZodObject[]];

/** Any event, told apart by `type`. */
export const eventSchema = z.discriminatedUnion("type", options) as unknown as z.ZodType<SessionEvent>;
