/**
 * `memoryInteractions`, `memoryAllowances` and `memoryFormDrafts` implement interactions in memory.
 *
 * Invariant: only `putChange` changes a status. It records the change and deletes the form draft, so versions have no
 * gaps. The rules are those of `rules/interactions.ts`.
 */
import {
  type Allowance,
  type Allowances,
  checkCount,
  checkDraft,
  checkIds,
  checkPage,
  checkRequest,
  checkTransition,
  type Env,
  type FormDraft,
  type FormDrafts,
  type Interaction,
  type InteractionChange,
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
import { requireSession } from "./session-rows.ts";
import { createPart, type MemoryTables, type Rows, sessionTable } from "./tables.ts";
import { copyJson } from "./tenants.ts";

const INTERACTIONS = sessionTable<Interaction>("interactions");
const CHANGES = sessionTable<{ readonly id: string; readonly change: InteractionChange }>(
  "interaction_changes",
);
/** As JSON. */
const SCHEMAS = sessionTable<string>("interaction_schemas");
const DRAFTS = sessionTable<FormDraft>("form_drafts");

export function memoryInteractions(tables: MemoryTables, env: Env): Interactions {
  return createPart<Interactions>(tables, {
    request(rows, ref, request) {
      checkRequest(request);
      requireSession(rows, ref);
      const { id, key = id, kind, turn, digest = null } = request;
      const there = interactionsOf(rows, ref).find((other) => other.id === id || other.key === key);
      if (there === undefined) {
        const made = newInteraction(ref, request, rows.next("interactions"), env.now());
        rows.put(INTERACTIONS, ref, id, made);
        rows.put(SCHEMAS, ref, id, schemaText(request) ?? "null");
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
    },

    change(rows, ref, transition) {
      checkTransition(transition);
      const current = rows.get(INTERACTIONS, ref, transition.id);
      if (current === undefined) throw new StoreError("NOT_FOUND", "interaction");
      if (!USER_DECIDED.includes(current.kind)) throw ofFeature(current.kind);
      const at = env.now();
      const error = transitionError(current, transition, at);
      if (error !== null) {
        return {
          applied: false,
          reason: error,
          current,
          change: changesOf(rows, ref, current.id).at(-1) ?? null,
          at,
        };
      }
      const { by = null, reason = null } = transition;
      const body = copyJson(transition.body ?? null);
      const changed = putChange(rows, current, { status: transition.to, by, reason, body, at });
      return { applied: true, version: changed.change.version, ...changed };
    },

    get: (rows, ref, id) => rows.get(INTERACTIONS, ref, id) ?? null,

    byKey: (rows, ref, key) => interactionsOf(rows, ref).find((row) => row.key === key) ?? null,

    schema: (rows, ref, id) => JSON.parse(rows.get(SCHEMAS, ref, id) ?? "null") as Json,

    list(rows, ref, { pending = false, kind: wanted, after = 0, limit = 100 } = {}) {
      checkCount(after, "after");
      return interactionsOf(rows, ref)
        .filter(({ n, kind, status }) => n > after && (!pending || isPendingStatus(kind, status)))
        .filter(({ kind }) => wanted === undefined || kind === wanted)
        .slice(0, checkPage(limit));
    },

    overdueForms(rows, { limit }) {
      const now = env.now();
      return rows
        .all(INTERACTIONS)
        .filter(({ kind, status, deadline }) => kind === "form" && status === "pending" && deadline !== null)
        .filter(({ deadline }) => (deadline ?? Infinity) <= now)
        .toSorted((a, b) => (a.deadline ?? 0) - (b.deadline ?? 0) || a.n - b.n)
        .slice(0, checkPage(limit));
    },

    changes: (rows, ref, id) => changesOf(rows, ref, id),
  });
}

/** Returns interactions in the order of their requests. */
function interactionsOf(rows: Rows, ref: SessionRef): Interaction[] {
  return rows.of(INTERACTIONS, ref).toSorted((a, b) => a.n - b.n);
}

function changesOf(rows: Rows, ref: SessionRef, of: string): InteractionChange[] {
  const changes = rows.of(CHANGES, ref).filter(({ id }) => id === of);
  return changes.map(({ change }) => change).toSorted((a, b) => a.version - b.version);
}

/** Stores a change and returns the changed interaction. Deletes the form draft. */
function putChange(rows: Rows, row: Interaction, given: Omit<InteractionChange, "version">) {
  const change = { ...given, version: row.version + 1 };
  const { version, status } = change;
  const interaction = { ...row, status, version, changedAt: change.at };
  rows.put(INTERACTIONS, row, row.id, interaction);
  rows.remove(DRAFTS, row, row.id);
  rows.put(CHANGES, row, JSON.stringify([row.id, version]), { id: row.id, change });
  return { interaction, change };
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

export function memoryAllowances(tables: MemoryTables, env: Env): Allowances {
  return createPart<Allowances>(tables, {
    add(rows, ref, allowance) {
      const { agent, tool, digest, by } = allowance;
      checkIds({ agent, tool, digest, by }, "allowance");
      requireSession(rows, ref);
      const key = keyOf(agent, tool);
      const known = rows.get(ALLOWANCES, ref, key);
      if (known?.digest === digest) return "already";
      const n = known?.n ?? rows.next("allowances");
      rows.put(ALLOWANCES, ref, key, { agent, tool, digest, by: by ?? null, at: env.now(), n });
      return "added";
    },
    find(rows, ref, agent, tool) {
      const row = rows.get(ALLOWANCES, ref, keyOf(agent, tool));
      return row === undefined ? null : allowanceOf(row);
    },
    list: (rows, ref) =>
      rows
        .of(ALLOWANCES, ref)
        .toSorted((a, b) => a.n - b.n)
        .slice(0, MAX_BATCH)
        .map(allowanceOf),
    remove: (rows, ref, agent, tool) => rows.remove(ALLOWANCES, ref, keyOf(agent, tool)),
  });
}

function allowanceOf({ n: _, ...allowance }: AllowanceRow): Allowance {
  return allowance;
}

export function memoryFormDrafts(tables: MemoryTables, env: Env): FormDrafts {
  return createPart<FormDrafts>(tables, {
    save(rows, ref, interaction, values) {
      const json = checkDraft(values);
      requireSession(rows, ref);
      const row = rows.get(INTERACTIONS, ref, interaction);
      if (row?.kind !== "form" || row.status !== "pending") return null;
      const version = (rows.get(DRAFTS, ref, interaction)?.version ?? 0) + 1;
      const draft: FormDraft = { values: JSON.parse(json) as Json, version, savedAt: env.now() };
      rows.put(DRAFTS, ref, interaction, draft);
      return draft;
    },
    get(rows, ref, interaction) {
      const row = rows.get(INTERACTIONS, ref, interaction);
      if (row?.status !== "pending") return null;
      return rows.get(DRAFTS, ref, interaction) ?? null;
    },
  });
}
