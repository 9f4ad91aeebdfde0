/**
 * `checkTimeout` validates how long an approval, a question or a form waits for the user, and `readTimeoutSeconds` reads
 * it from the input of a model. Pure.
 *
 * Invariant: timeouts are whole seconds of at most ten years, because events and the journal count in seconds.
 */
import type { Json } from "@turnstream/protocol";
import { z } from "zod";
import { asJsonObject } from "../../util/json.ts";

const SECOND_MS = 1_000;
const MAX_SECONDS = 10 * 366 * 24 * 60 * 60;
const MAX_TIMEOUT_MS = MAX_SECONDS * SECOND_MS;

/** The property of an input schema with which a model sets a deadline. */
export const timeoutProperty = z
  .int()
  .min(1)
  .max(MAX_SECONDS)
  .optional()
  .describe("How long to wait for the user. Leave it out unless an answer is useless after some time.");

export const TIMEOUT_RULE = `a whole number of seconds in milliseconds, from 0 to ${MAX_TIMEOUT_MS} (ten years)`;

export function isTimeout(value: unknown): value is number {
  const isWhole = Number.isSafeInteger(value) && (value as number) % SECOND_MS === 0;
  return isWhole && (value as number) >= 0 && (value as number) <= MAX_TIMEOUT_MS;
}

/** Throws a TypeError for a timeout that is not a whole number of seconds in milliseconds. */
export function checkTimeout(timeoutMs: number, name: string): void {
  if (!isTimeout(timeoutMs))
    throw new TypeError(`\`${name}\` must be ${TIMEOUT_RULE}, got ${String(timeoutMs)}.`);
}

export function toSeconds(timeoutMs: number): number {
  return timeoutMs / SECOND_MS;
}

/** Returns the timeout that a model asked for, null for none, or the problem with it. */
export function readTimeoutSeconds(input: Json): number | null | { readonly problem: string } {
  const { timeout_seconds: seconds = null } = asJsonObject(input);
  if (seconds === null) return null;
  const isValid = typeof seconds === "number" && Number.isSafeInteger(seconds);
  if (isValid && seconds >= 1 && seconds <= MAX_SECONDS) return seconds;
  return { problem: `\`timeout_seconds\` must be an integer from 1 to ${MAX_SECONDS}.` };
}

/** The fields of a request with a deadline; none without one. */
export function deadlineFields(
  timeoutSeconds: number | null,
  now: number,
): { readonly timeout_seconds?: number; readonly deadline?: number } {
  if (timeoutSeconds === null) return {};
  return { timeout_seconds: timeoutSeconds, deadline: now + timeoutSeconds * SECOND_MS };
}
