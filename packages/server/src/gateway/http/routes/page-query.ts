/**
 * `pageBefore` and `pageLimit` parse the numbers of page queries, which arrive as text. Pure.
 * Invariant: only up to 15 digits are accepted, so every result is a safe non-negative integer. A limit is from 1 to
 * `max`; without one, the default applies.
 */
import { z } from "zod";

/** Digits only. Rejects other notations that `Number` would accept. */
const digits = z
  .string()
  .regex(/^\d{1,15}$/, "must be a whole number")
  .transform(Number);

export const pageBefore = digits.exactOptional();

export function pageLimit(max: number, defaultLimit: number): z.ZodType<number, string | undefined> {
  return digits.pipe(z.int().min(1).max(max)).default(defaultLimit);
}
