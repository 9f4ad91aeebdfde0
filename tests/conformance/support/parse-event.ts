/** `parseEvent` validates an event of the current schema version, as writers must produce it. */
import type { SessionEvent } from "@turnstream/protocol";
import { eventSchema } from "@turnstream/protocol/schema";

type Parsed =
  | { readonly ok: true; readonly value: SessionEvent }
  | { readonly ok: false; readonly message: string };

export function parseEvent(value: unknown): Parsed {
  const { success, data, error } = eventSchema.safeParse(value);
  if (success) return { ok: true, value: data };
  const [issue] = error.issues;
  return { ok: false, message: `${issue?.path.map(String).join(".") ?? ""}: ${issue?.message ?? ""}` };
}
