/**
 * The sub-port of what a person has filled in so far, of a form that waits: kept so that it survives a reload. Gone when
 * the form is decided, and with its session. Never checks the values against the form.
 */
import type { Json } from "@turnstream/protocol";
import { StoreError } from "../errors.ts";
import type { Ref } from "../refs.ts";

export interface FormDraft {
  readonly values: Json;
  /** 1 at first, and one more with every save. */
  readonly version: number;
  readonly savedAt: number;
}

export interface FormDrafts {
  /**
   * Replaces the draft: the last one counts. Null, and nothing is kept, when the interaction is not a form that waits.
   * Throws NOT_FOUND without the session, and TOO_LARGE beyond 64 kB.
   */
  save(ref: Ref, interaction: string, values: Json): Promise<FormDraft | null>;
  /** Null when there is none, or the form waits no longer. */
  get(ref: Ref, interaction: string): Promise<FormDraft | null>;
}

const MAX_BYTES = 65_536;

/** @returns the values as they are stored */
export function checkDraft(values: Json): string {
  // Not a string for what isn't JSON at all.
  const json = JSON.stringify(values) as string | undefined;
  if (json === undefined) throw new StoreError("INVALID", "form draft must be JSON");
  if (Buffer.byteLength(json) > MAX_BYTES) throw new StoreError("TOO_LARGE", "form draft");
  return json;
}
