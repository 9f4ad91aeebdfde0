/**
 * `runIdempotent` executes a request once per `idempotency-key`. A repeated request gets the stored response, or waits
 * up to 5 seconds while the first one still runs. Does not interpret requests.
 * Invariant: a key belongs to one user and route; with another digest it is a conflict. A failed request stores
 * nothing, so it can be repeated. An error while storing the response never fails a request that succeeded. A repeat
 * after a crash gets the same id. Only `json` bodies are stored: routes with streams detect repeats themselves.
 */
import { createHash } from "node:crypto";
import type { Json } from "@turnstream/protocol";
import { isStoreError } from "../../store/errors.ts";
import type { StoredResponse, IdempotentRequest } from "../../store/idempotency.ts";
import type { Actor } from "../../util/refs.ts";
import { poll } from "../../util/retry.ts";
import { RequestError } from "../errors.ts";
import type { RouteResult, GatewayContext } from "../context.ts";
import { defined } from "../../util/defined.ts";

const KEY = /^[\x21-\x7e]{1,200}$/;
const WAIT_TIMEOUT_MS = 5_000;
const POLL_INTERVAL_MS = 100;
const REPLAYED = { "idempotency-replayed": "true" };

/** @throws RequestError with code `BAD_REQUEST` */
export function parseIdempotencyKey(key: string): string {
  if (KEY.test(key)) return key;
  throw new RequestError("BAD_REQUEST", "idempotency-key must be 1 to 200 visible ASCII characters.");
}

/** Returns a digest of everything that identifies a request. */
export function requestDigest(...values: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(values)).digest("hex");
}

/** @param work creates objects with the given id. A repeat after a crash gets the same id. */
export async function runIdempotent(
  context: Pick<GatewayContext, "store" | "onError">,
  actor: Actor,
  request: IdempotentRequest,
  work: (id: string) => Promise<RouteResult>,
): Promise<RouteResult> {
  const outcome = await poll(() => context.store.idempotency.begin(actor, request), {
    isDone: ({ state }) => state !== "busy",
    timeoutMs: WAIT_TIMEOUT_MS,
    initialDelayMs: POLL_INTERVAL_MS,
  });
  if (outcome.state === "done") return toReplayedResult(outcome.answer);
  if (outcome.state === "different")
    throw new RequestError("CONFLICT", "This idempotency-key was used for another request. Use a new one.");
  if (outcome.state === "busy")
    throw new RequestError("CONFLICT", "The same request is still running. Try again later.");
  const { claim } = outcome;
  try {
    const result = await work(outcome.id);
    await storeResponse(context, actor, request, claim, result);
    return result;
  } catch (error) {
    await reportErrors(context, () => context.store.idempotency.release(actor, request, claim));
    throw error;
  }
}

/** The request has succeeded, so an error while storing its response must not fail it. */
async function storeResponse(
  context: Pick<GatewayContext, "store" | "onError">,
  actor: Actor,
  request: IdempotentRequest,
  claim: string,
  result: RouteResult,
): Promise<void> {
  const { idempotency } = context.store;
  const stored = toStoredResponse(result);
  await reportErrors(context, async () => {
    if (stored === null) return idempotency.release(actor, request, claim);
    try {
      await idempotency.finish(actor, request, claim, stored);
    } catch (error) {
      // The session was already deleted, or the response is too large.
      if (!isStoreError(error, "NOT_FOUND") && !isStoreError(error, "TOO_LARGE")) throw error;
      await idempotency.release(actor, request, claim);
    }
  });
}

/** Streams and bytes are not stored: their routes detect a repeated request themselves. */
function toStoredResponse(result: RouteResult): StoredResponse | null {
  if ("stream" in result || "bytes" in result) return null;
  if (!("json" in result)) return { status: result.status, body: null };
  const { status, json, session } = result;
  return { status, body: json as Json, ...defined({ session }) };
}

function toReplayedResult({ status, body }: { readonly status: number; readonly body: Json }): RouteResult {
  if (status === 204) return { status, headers: REPLAYED };
  return { status, json: body, headers: REPLAYED };
}

async function reportErrors(
  { onError }: Pick<GatewayContext, "onError">,
  work: () => Promise<unknown>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    onError(error, { during: "storing the response of a request" });
  }
}
