/**
 * `memoryInteractions`, `memoryAllowances` and `memoryFormDrafts` implement interactions in memory.
 *
 * Invariant: a change is checked and made in one `tables.run`. Work runs one at a time, so the check stays valid until
 * the change. The rules are those of `rules/interactions.ts`.
 */
import {
  type Allowance,
  type Allowances,
  checkAllowance,
  checkCount,
  checkDraft,
  checkPage,
  checkRequest,
  checkTransition,
  type Env,
  type FormDraft,
  type FormDrafts,
  type Interaction,
  type InteractionRequest,
  type Interactions,
  isPendingStatus,
  MAX_BATCH,
  ofFeature,
  USER_DECIDED,
  schemaText,
  type SessionRef,
  StoreError,
  transitionError,
} from "@turnstream/server/internal";
import type { Json } from "@turnstream/protocol";
import {
  allInteractions,
  changesOf,
  DRAFTS,
  findInteraction,
  interactionsOf,
  putChange,
  putInteraction,
  putSchema,
  schemaOf,
} from "./interaction-rows.ts";
import { requireSession, sessionRow } from "./session-rows.ts";
import { type MemoryTables, type Rows, sessionTable } from "./tables.ts";
import { copyJson } from "./tenants.ts";

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

    change: (ref, transition) =>
      tables.run((rows) => {
        checkTransition(transition);
        const current = findInteraction(rows, ref, transition.id);
        if (current === undefined) throw new StoreError("NOT_FOUND", "interaction");
        if (!USER_DECIDED.includes(current.kind)) throw ofFeature(current.kind);
        const at = env.now();
        const error = transitionError(current, transition, at);
        if (error !== null) {
          return {
            applied: false,
            reason: error,
            current,
            change: changesOf(rows, current).at(-1) ?? null,
            at,
          };
        }
        const { by = null, reason = null } = transition;
        const body = copyJson(transition.body ?? null);
        const changed = putChange(rows, current, { status: transition.to, by, reason, body, at });
        return { applied: true, version: changed.change.version, ...changed };
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

    overdueForms: ({ limit }) =>
      tables.run((rows) => {
        const now = env.now();
        return allInteractions(rows)
          .filter(
            ({ kind, status, deadline }) => kind === "form" && status === "pending" && deadline !== null,
          )
          .filter(({ deadline }) => (deadline ?? Infinity) <= now)
          .toSorted((a, b) => (a.deadline ?? 0) - (b.deadline ?? 0) || a.n - b.n)
          .slice(0, checkPage(limit));
      }),

    changes: (ref, id) =>
      tables.run((rows) => {
        const row = findInteraction(rows, ref, id);
        return row === undefined ? [] : changesOf(rows, row);
      }),
  };
}

function newInteraction(ref: SessionRef, request: InteractionRequest, n: number, now: number): Interaction {
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

interface AllowanceRow extends Allowance {
  readonly n: number;
}

const ALLOWANCES = sessionTable<AllowanceRow>("allowances");

const keyOf = (agent: string, tool: string): string => JSON.stringify([agent, tool]);

function ofTenant(rows: Rows, ref: SessionRef): AllowanceRow[] {
  return sessionRow(rows, ref) === undefined ? [] : rows.of(ALLOWANCES, ref);
}

export function memoryAllowances(tables: MemoryTables, env: Env): Allowances {
  return {
    add: (ref, allowance) =>
      tables.run((rows) => {
        checkAllowance(allowance);
        requireSession(rows, ref);
        const { agent, tool, digest, by = null } = allowance;
        const key = keyOf(agent, tool);
        const known = rows.get(ALLOWANCES, ref, key);
        if (known?.digest === digest) return "already";
        const n = known?.n ?? rows.next("allowances");
        rows.put(ALLOWANCES, ref, key, { agent, tool, digest, by, at: env.now(), n });
        return "added";
      }),
    find: (ref, agent, tool) =>
      tables.run((rows) => {
        const row = ofTenant(rows, ref).find(
          (candidate) => candidate.agent === agent && candidate.tool === tool,
        );
        return row === undefined ? null : allowanceOf(row);
      }),
    list: (ref) =>
      tables.run((rows) =>
        ofTenant(rows, ref)
          .toSorted((a, b) => a.n - b.n)
          .slice(0, MAX_BATCH)
          .map(allowanceOf),
      ),
    remove: (ref, agent, tool) =>
      tables.run(
        (rows) => sessionRow(rows, ref) !== undefined && rows.remove(ALLOWANCES, ref, keyOf(agent, tool)),
      ),
  };
}

function allowanceOf({ n: _, ...allowance }: AllowanceRow): Allowance {
  return allowance;
}

/** Removes the user's id. The allowance stays. */
export function clearAllowanceAuthor(rows: Rows, ref: SessionRef, user: string): void {
  for (const row of rows.of(ALLOWANCES, ref))
    if (row.by === user) rows.put(ALLOWANCES, ref, keyOf(row.agent, row.tool), { ...row, by: null });
}

export function memoryFormDrafts(tables: MemoryTables, env: Env): FormDrafts {
  return {
    save: (ref, interaction, values) =>
      tables.run((rows) => {
        const json = checkDraft(values);
        requireSession(rows, ref);
        const row = findInteraction(rows, ref, interaction);
        if (row?.kind !== "form" || row.status !== "pending") return null;
        const version = (rows.get(DRAFTS, ref, interaction)?.version ?? 0) + 1;
        const draft: FormDraft = { values: JSON.parse(json) as Json, version, savedAt: env.now() };
        rows.put(DRAFTS, ref, interaction, draft);
        return draft;
      }),
    get: (ref, interaction) =>
      tables.run((rows) => {
        const row = findInteraction(rows, ref, interaction);
        if (row?.status !== "pending") return null;
        return rows.get(DRAFTS, ref, interaction) ?? null;
      }),
  };
}
