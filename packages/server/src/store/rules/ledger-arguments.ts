/**
 * `checkKey`, `checkRequest`, `checkOrder` and the other checks validate keys, interactions, orders and usage for both
 * stores. Pure.
 *
 * Invariant: both stores call them before they write, so that both refuse the same arguments. Errors name the field and
 * never contain its content.
 */
import { checkCount, checkDuration, checkId, checkLimit, checkText, checkTime } from "./arguments.ts";
import { StoreError } from "../errors.ts";
import type { TransitionRequest, InteractionRequest, NewAllowance } from "../ports/interactions.ts";
import type { NewKey } from "../ports/access.ts";
import type { Money } from "./payments.ts";
import { MAX_NOTICE_BYTES, type NewOrder, type OrderTransition } from "../ports/payments.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import type { UsageAdd } from "../ports/audit.ts";

export function checkPage(limit: number): number {
  return checkLimit(limit, MAX_BATCH);
}

/** @returns the name as it can be stored */
export function checkKey({ name, scopes, expiresAt }: NewKey): string {
  for (const scope of scopes) checkId(scope, "key scope");
  if (expiresAt !== undefined) checkTime(expiresAt, "key expiresAt");
  return checkText(name, "key name");
}

export function checkAllowance({ agent, tool, by }: NewAllowance): void {
  checkIds({ agent, tool, by }, "allowance");
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

export function checkOrder(order: NewOrder): void {
  const { id, interaction, orderNo, gateway } = order;
  checkIds({ id, interaction, orderNo, gateway }, "order");
  checkDuration(order.expiresMs ?? 0, "order expiresMs");
  checkDuration(order.checkMs, "order checkMs");
  if (checkCount(order.amount, "order amount") === 0)
    throw new StoreError("INVALID", "order amount must be at least 1, got 0");
  if (!/^[A-Z]{3}$/.test(order.currency))
    throw new StoreError("INVALID", "order currency must be three letters A-Z");
}

export function checkOrderTransition(move: OrderTransition): void {
  const { orderNo, gatewayRef, gateway, by, notice } = move;
  checkIds({ orderNo, gatewayRef, gateway, by }, "payment");
  // Input from the wire may not match the type.
  if (move.to === "succeeded" && (move.paid as Money | undefined) === undefined) {
    throw new StoreError("INVALID", "a succeeded payment must have a paid amount");
  }
  if (notice === undefined) return;
  checkIds({ gateway: notice.gateway, event: notice.event }, "notice");
  if (Buffer.byteLength(JSON.stringify(notice.body)) > MAX_NOTICE_BYTES) {
    throw new StoreError("TOO_LARGE", "payment notice");
  }
}

/** @returns the model as it can be stored */
export function checkUsage(usage: UsageAdd): string {
  checkId(usage.key, "usage key");
  if (usage.day !== undefined) checkDay(usage.day);
  const { turns, calls, input_tokens, output_tokens, total_tokens } = usage;
  for (const count of [turns, calls, input_tokens, output_tokens, total_tokens]) checkCount(count, "usage");
  return checkText(usage.model ?? "", "usage model");
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
