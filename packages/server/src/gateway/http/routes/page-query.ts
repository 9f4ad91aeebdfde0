/** Values of a query, which come as text: numbers of pages, and ids. Pure. */
import { z } from "zod";

/** As clients write numbers: digits, and nothing that only a parser takes for one. */
const digits = z
  .string()
  .regex(/^\d{1,15}$/, "must be a whole number")
  .transform(Number);

export const pageBefore = digits.exactOptional();

export function pageLimit(max: number, defaultLimit: number): z.ZodType<number, string | undefined> {
  return digits.pipe(z.int().min(1).max(max)).default(defaultLimit);
}
