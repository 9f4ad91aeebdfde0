/**
 * Does a request once under its `idempotency-key`: a repeat gets the first answer again, and one that comes while the first
 * is still being done waits for it. A request that fails keeps nothing, so it can be repeated. Never looks into requests.
 */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Json } from "@turnstream/protocol";
import { isStoreError } from "../../store/errors.ts";
import type { BeginResult, StoredResponse, IdempotentRequest } from "../../store/ports/access.ts";
import type { Actor } from "../../store/refs.ts";
import { RequestError } from "../errors.ts";
import type { RouteResult, GatewayContext } from "../context.ts";

const KEY = /^[\x21-\x7e]{1,200}$/;
const PATIENCE_MS = 5_000;
const LOOK_MS = 100;
const REPLAYED = { "idempotency-replayed": "true" };

/** Throws BAD_REQUEST. */
export function parseIdempotencyKey(key: string): string {
  if (KEY.test(key)) return key;
  throw new RequestError("BAD_REQUEST", "idempotency-key must be 1 to 200 visible ASCII characters.");
}

/** Of whatever makes two requests the same. */
export function requestDigest(...asked: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(asked)).digest("hex");
}

/** @param work makes things under the id that it is given: whoever repeats it after a crash gets the same id */
export async function runIdempotent(
  parts: Pick<GatewayContext, "store" | "onError">,
  actor: Actor,
  request: IdempotentRequest,
  work: (id: string) => Promise<RouteResult>,
): Promise<RouteResult> {
  const begun = await beginPatiently(parts, actor, request);
  if (begun.state === "done") return again(begun.answer);
  if (begun.state === "different")
    throw new RequestError("CONFLICT", "This idempotency-key was used for another request. Take a new one.");
  if (begun.state === "busy")
    throw new RequestError("CONFLICT", "The same request is still being done. Ask again a little later.");
  const { requests, claim } = { requests: parts.store.idempotency, claim: begun.claim };
  try {
    const answer = await work(begun.id);
    await keep(parts, actor, request, claim, answer);
    return answer;
  } catch (error) {
    await quietly(parts, () => requests.release(actor, request, claim));
    throw error;
  }
}

async function beginPatiently(
  { store }: Pick<GatewayContext, "store">,
  actor: Actor,
  request: IdempotentRequest,
): Promise<BeginResult> {
  const until = performance.now() + PATIENCE_MS;
  while (true) {
    const begun = await store.idempotency.begin(actor, request);
    if (begun.state !== "busy" || performance.now() > until) return begun;
    await sleep(LOOK_MS);
  }
}

/** What was done is done: that it can't be remembered is no reason to say that it failed. */
async function keep(
  parts: Pick<GatewayContext, "store" | "onError">,
  actor: Actor,
  request: IdempotentRequest,
  claim: string,
  answer: RouteResult,
): Promise<void> {
  const { idempotency } = parts.store;
  const kept = keptOf(answer);
  await quietly(parts, async () => {
    if (kept === null) return idempotency.release(actor, request, claim);
    try {
      await idempotency.finish(actor, request, claim, kept);
    } catch (error) {
      // Its session is gone already, or it is more than is kept.
      if (!isStoreError(error, "NOT_FOUND") && !isStoreError(error, "TOO_LARGE")) throw error;
      await idempotency.release(actor, request, claim);
    }
  });
}

/** Streams and bytes are not kept: their routes know a repeat by themselves. */
function keptOf(answer: RouteResult): StoredResponse | null {
  if ("stream" in answer || "bytes" in answer) return null;
  if (!("json" in answer)) return { status: answer.status, body: null };
  const { status, json, session } = answer;
  return { status, body: json as Json, ...(session === undefined ? {} : { session }) };
}

function again({ status, body }: { readonly status: number; readonly body: Json }): RouteResult {
  if (status === 204) return { status, headers: REPLAYED };
  return { status, json: body, headers: REPLAYED };
}

async function quietly(
  { onError }: Pick<GatewayContext, "onError">,
  work: () => Promise<unknown>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    onError(error, "keeping what was answered to a request");
  }
}
