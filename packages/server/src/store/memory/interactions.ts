/** Interactions in memory: one piece of work at a time, so the rules can simply be asked. */
import { checkCount } from "../rules/arguments.ts";
import type { Env } from "../../util/env.ts";
import { StoreError } from "../errors.ts";
import { isForItsOrder, isPendingStatus, refusalOf } from "../rules/interactions.ts";
import type { Interaction, InteractionRequest, Interactions } from "../ports/interactions.ts";
import { checkPage, checkRequest, checkWish, schemaText } from "../rules/ledger-arguments.ts";
import type { Ref } from "../refs.ts";
import {
  changesOf,
  findInteraction,
  interactionsOf,
  putChange,
  putInteraction,
  putSchema,
  schemaOf,
} from "./interaction-rows.ts";
import { copyJson } from "./ledger-rows.ts";
import { isOrdered } from "./order-rows.ts";
import { requireSession } from "./session-rows.ts";
import type { MemoryTables } from "./tables.ts";

export function memoryInteractions(tables: MemoryTables, env: Env): Interactions {
  return {
    request: (ref, request) =>
      tables.run((rows) => {
        checkRequest(request);
        requireSession(rows, ref);
        const { id, key = id, kind, turn, digest = null } = request;
        const there = interactionsOf(rows, ref).find((other) => other.id === id || other.key === key);
        if (there === undefined) {
          const made = newInteraction(ref, request, rows.next("interactions"), env.now());
          putInteraction(rows, made);
          putSchema(rows, made, schemaText(request));
          return { created: true, interaction: made };
        }
        const same =
          there.id === id &&
          there.key === key &&
          there.kind === kind &&
          there.turn === turn &&
          there.digest === digest;
        if (!same) throw new StoreError("EXISTS", "interaction");
        return { created: false, interaction: there };
      }),

    change: (ref, wish) =>
      tables.run((rows) => {
        checkWish(wish);
        const current = findInteraction(rows, ref, wish.id);
        if (current === undefined) throw new StoreError("NOT_FOUND", "interaction");
        if (isForItsOrder(current.kind, wish.to, isOrdered(rows, ref.session, wish.id))) {
          throw new StoreError("INVALID", "interaction of a payment (move its order)");
        }
        const at = env.now();
        const why = refusalOf(current, wish, at);
        if (why !== null) {
          return { won: false, why, current, change: changesOf(rows, current).at(-1) ?? null, at };
        }
        const { by = null, reason = null } = wish;
        const body = copyJson(wish.body ?? null);
        const won = putChange(rows, current, { status: wish.to, by, reason, body, at });
        return { won: true, version: won.change.version, ...won };
      }),

    get: (ref, id) => tables.run((rows) => findInteraction(rows, ref, id) ?? null),

    byKey: (ref, key) =>
      tables.run((rows) => interactionsOf(rows, ref).find((row) => row.key === key) ?? null),

    schema: (ref, id) =>
      tables.run((rows) => {
        const row = findInteraction(rows, ref, id);
        return row === undefined ? null : schemaOf(rows, row);
      }),

    list: (ref, { pending = false, kind: wanted, after = 0, limit = 100 } = {}) =>
      tables.run((rows) => {
        checkCount(after, "after");
        return interactionsOf(rows, ref)
          .filter(({ n, kind, status }) => n > after && (!pending || isPendingStatus(kind, status)))
          .filter(({ kind }) => wanted === undefined || kind === wanted)
          .slice(0, checkPage(limit));
      }),

    changes: (ref, id) =>
      tables.run((rows) => {
        const row = findInteraction(rows, ref, id);
        return row === undefined ? [] : changesOf(rows, row);
      }),
  };
}

function newInteraction(ref: Ref, request: InteractionRequest, n: number, now: number): Interaction {
  const { id, key = id, kind, turn, run, block, index, deadlineMs } = request;
  return {
    tenant: ref.tenant,
    session: ref.session,
    id,
    n,
    kind,
    key,
    turn,
    run,
    block,
    index,
    call: request.call ?? null,
    request: copyJson(request.request),
    digest: request.digest ?? null,
    deadline: deadlineMs === undefined ? null : now + deadlineMs,
    status: "pending",
    version: 0,
    requestedAt: now,
    changedAt: null,
  };
}
