/**
 * `checkKey`, `checkRequest`, `checkPayment` and the other checks validate keys, interactions, payments and usage for
 * both stores. Pure.
 *
 * Invariant: both stores call them before they write, so that both refuse the same arguments. Errors name the field and
 * never contain its content.
 */
import { checkCount, checkDuration, checkId, checkLimit, checkText, checkTime } from "./arguments.ts";
import { StoreError } from "../errors.ts";
import type { TransitionRequest, InteractionRequest, NewAllowance } from "../ports/interactions.ts";
import type { NewKey } from "../ports/access.ts";
import type { FlagResolution, NewPayment } from "../ports/payments.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import type { UsageAdd } from "../ports/usage.ts";
import { COST_UNIT } from "./limits.ts";
import type { PaymentInput } from "./payments.ts";

export function checkPage(limit: number): number {
  return checkLimit(limit, MAX_BATCH);
}

/** @returns the name as it can be stored */
export function checkKey({ name, scopes, expiresAt }: NewKey): string {
  for (const scope of scopes) checkId(scope, "key scope");
  if (expiresAt !== undefined) checkTime(expiresAt, "key expiresAt");
  return checkText(name, "key name");
}

export function checkAllowance({ agent, tool, digest, by }: NewAllowance): void {
  checkIds({ agent, tool, digest, by }, "allowance");
}

/** Maximum size of a stored schema. Only the worker checks edits against a larger one. */
const MAX_SCHEMA_BYTES = 64_000;

/** @returns the schema as JSON, or null if there is none or it is too large */
export function schemaText({ schema }: InteractionRequest): string | null {
  if (schema === undefined) return null;
  const text = JSON.stringify(schema);
  return Buffer.byteLength(text) > MAX_SCHEMA_BYTES ? null : text;
}

export function checkRequest(request: InteractionRequest): void {
  const { id, key, turn, run, block, call, digest } = request;
  checkIds({ id, key, turn, run, block, call, digest }, "interaction");
  checkCount(request.index, "interaction index");
  checkDuration(request.deadlineMs ?? 0, "interaction deadlineMs");
}

export function checkTransition({ id, to, by, expectDigest, expectVersion }: TransitionRequest): void {
  checkIds({ id, to, by, expectDigest }, "interaction");
  checkCount(expectVersion ?? 0, "interaction expectVersion");
}

export function checkPayment(payment: NewPayment): void {
  const { id, orderNo, tokenHash, provider, locale, agent } = payment;
  checkIds({ id, orderNo, tokenHash, provider, locale, agent: agent ?? undefined }, "payment");
  checkDuration(payment.expiresMs, "payment expiresMs");
  if (checkDuration(payment.queryAfterMs, "payment queryAfterMs") === 0)
    throw new StoreError("INVALID", "payment queryAfterMs must be at least 1, got 0");
  if (checkCount(payment.amount, "payment amount") === 0)
    throw new StoreError("INVALID", "payment amount must be at least 1, got 0");
  if (!/^[A-Z]{3}$/.test(payment.currency))
    throw new StoreError("INVALID", "payment currency must be three letters A-Z");
}

/** Longer texts of a provider are refused; adapters cut them. */
const MAX_EVENT_LENGTH = 200;
const MAX_REASON_LENGTH = 500;

export function checkPaymentInput(input: PaymentInput): void {
  if ("by" in input) checkIds({ by: input.by }, "payment");
  if (!("event" in input)) return;
  const { type, paid, provider, providerRef, event, reason, evidenceHash } = input;
  checkIds({ provider, providerRef: providerRef ?? undefined, event }, "report");
  if (event.length > MAX_EVENT_LENGTH)
    throw new StoreError("INVALID", `report event must have at most ${MAX_EVENT_LENGTH} characters`);
  if ((reason ?? "").length > MAX_REASON_LENGTH)
    throw new StoreError("INVALID", `report reason must have at most ${MAX_REASON_LENGTH} characters`);
  if (evidenceHash !== null && !/^[0-9a-f]{64}$/.test(evidenceHash))
    throw new StoreError("INVALID", "report evidenceHash must be a SHA-256 in hex");
  if (paid === null && (type === "succeeded" || type === "refunded"))
    throw new StoreError("INVALID", `a ${type} report must have a paid amount`);
  if (paid === null) return;
  checkCount(paid.amount, "report amount");
  checkId(paid.currency, "report currency");
}

const MAX_NOTE_LENGTH = 2_000;

export function checkFlagResolution({ by, note }: FlagResolution): void {
  checkId(by, "operator");
  if (note.length > MAX_NOTE_LENGTH)
    throw new StoreError("INVALID", `note must have at most ${MAX_NOTE_LENGTH} characters`);
}

/** @returns the model and the cost as they can be stored */
export function checkUsage(usage: UsageAdd): { readonly model: string; readonly costMicros: number } {
  checkIds({ key: usage.key, user: usage.user, apiKey: usage.apiKey ?? undefined }, "usage");
  if (usage.day !== undefined) checkDay(usage.day);
  const { turns, calls, input_tokens, output_tokens, total_tokens } = usage;
  for (const count of [turns, calls, input_tokens, output_tokens, total_tokens]) checkCount(count, "usage");
  const costMicros = checkCount(Math.round((usage.cost ?? 0) * COST_UNIT), "usage cost in millionths");
  return { model: checkText(usage.model ?? "", "usage model"), costMicros };
}

/** Checks the format, and that the day exists. */
export function checkDay(day: string): void {
  const time = /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(day) : Number.NaN;
  if (Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== day) {
    throw new StoreError("INVALID", "day must be an existing day, as YYYY-MM-DD");
  }
}

function checkIds(ids: Readonly<Record<string, string | undefined>>, of: string): void {
  for (const [name, id] of Object.entries(ids)) if (id !== undefined) checkId(id, `${of} ${name}`);
}
