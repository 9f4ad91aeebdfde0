/** Requests that must not be done twice, in memory. */
import type { Json } from "@turnstream/protocol";
import type { Env } from "../../util/env.ts";
import {
  type Idempotency,
  REQUEST_CLAIM_MS,
  REQUEST_KEPT_MS,
  type RequestBegun,
  type RequestKey,
} from "../ports/idempotency.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import type { Actor } from "../refs.ts";
import { checkLimit } from "../rules/arguments.ts";
import { checkAnswer, checkRequest, judgeRequest } from "../rules/idempotency.ts";
import { requireTenant } from "./ledger-rows.ts";
import { putRequest, removeRequests, requestKey, type RequestRow, REQUESTS } from "./request-rows.ts";
import { requireSession } from "./session-rows.ts";
import type { MemoryTables, Rows } from "./tables.ts";

export function memoryIdempotency(tables: MemoryTables, env: Env): Idempotency {
  return {
    begin: (actor, request) =>
      tables.run((rows) => {
        checkRequest(request);
        requireTenant(rows, actor.tenant);
        if (request.session !== undefined)
          requireSession(rows, { tenant: actor.tenant, session: request.session });
        const now = env.now();
        const there = rows.get(REQUESTS, actor.tenant, requestKey(actor, request));
        const row = there === undefined || there.begunAt < now - REQUEST_KEPT_MS ? undefined : there;
        if (row !== undefined) {
          const body = row.body === null ? null : (JSON.parse(row.body) as Json);
          const isClaimed = row.claim !== null && row.claimedUntil > now;
          const judged = judgeRequest({ ...row, body, isClaimed }, request.digest);
          if (judged !== null) return judged;
        }
        const claim = env.id();
        const claimedUntil = now + REQUEST_CLAIM_MS;
        const begun = { ...(row ?? newRow(actor, request, env.id(), now)), claim, claimedUntil };
        putRequest(rows, begun);
        return { state: "yours", claim, id: begun.id };
      }),
    finish: (actor, request, claim, answer) =>
      tables.run((rows) => {
        const body = checkAnswer(answer);
        const { status, session } = answer;
        if (session !== undefined) requireSession(rows, { tenant: actor.tenant, session });
        const row = held(rows, actor, request, claim);
        if (row === undefined) return false;
        putRequest(rows, { ...row, status, body, claim: null, session: session ?? row.session });
        return true;
      }),
    release: (actor, request, claim) =>
      tables.run((rows) => {
        const row = held(rows, actor, request, claim);
        if (row !== undefined) putRequest(rows, { ...row, claim: null });
      }),
    sweep: (limit) =>
      tables.run((rows) => {
        const before = env.now() - REQUEST_KEPT_MS;
        const old = rows.all(REQUESTS).filter((row) => row.begunAt < before);
        return removeRequests(rows, old.slice(0, checkLimit(limit, MAX_BATCH)));
      }),
  };
}

/** The row, as long as the claim is the one that counts. */
function held(rows: Rows, actor: Actor, request: RequestKey, claim: string): RequestRow | undefined {
  const row = rows.get(REQUESTS, actor.tenant, requestKey(actor, request));
  return row?.claim === claim ? row : undefined;
}

function newRow(actor: Actor, request: RequestBegun, id: string, begunAt: number): RequestRow {
  const { tenant, user } = actor;
  const { route, key, digest, session = null } = request;
  const none = { claim: null, claimedUntil: 0, status: null, body: null };
  return { tenant, user, route, key, digest, id, session, begunAt, ...none };
}
