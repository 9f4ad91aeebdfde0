/**
 * `putInteraction`, `putChange` and their readers access the rows of interactions and their changes in memory. They do
 * not decide whether a change is allowed.
 *
 * Invariant: only `putChange` changes a status. It increases the version by one, records the change and deletes the
 * form draft, so versions have no gaps.
 */
import type { Json } from "@turnstream/protocol";
import type { FormDraft, Interaction, InteractionChange } from "../ports/interactions.ts";
import type { SessionRef } from "../refs.ts";
import { type Rows, table } from "./tables.ts";

const INTERACTIONS = table<Interaction>("interactions", "session");
const CHANGES = table<{ readonly id: string; readonly change: InteractionChange }>(
  "interaction_changes",
  "session",
);

const SCHEMAS = table<string>("interaction_schemas", "session");

export function putSchema(rows: Rows, { session, id }: Interaction, text: string | null): void {
  if (text !== null) rows.put(SCHEMAS, session, id, text);
}

export function schemaOf(rows: Rows, { session, id }: Interaction): Json {
  return JSON.parse(rows.get(SCHEMAS, session, id) ?? "null") as Json;
}
export const DRAFTS = table<FormDraft>("form_drafts", "session");

export function findInteraction(rows: Rows, ref: SessionRef, id: string): Interaction | undefined {
  const row = rows.get(INTERACTIONS, ref.session, id);
  return row?.tenant === ref.tenant ? row : undefined;
}

/** Returns interactions in the order of their requests. */
export function interactionsOf(rows: Rows, ref: SessionRef): Interaction[] {
  return rows
    .of(INTERACTIONS, ref.session)
    .filter(({ tenant }) => tenant === ref.tenant)
    .toSorted((a, b) => a.n - b.n);
}

/** Returns the interactions of all sessions. */
export function allInteractions(rows: Rows): Interaction[] {
  return rows.all(INTERACTIONS);
}

export function putInteraction(rows: Rows, row: Interaction): void {
  rows.put(INTERACTIONS, row.session, row.id, row);
}

export function changesOf(rows: Rows, { session, id }: Interaction): InteractionChange[] {
  return rows
    .of(CHANGES, session)
    .filter((row) => row.id === id)
    .map(({ change }) => change)
    .toSorted((a, b) => a.version - b.version);
}

/** Stores a change and returns the changed interaction. Deletes the form draft. */
export function putChange(
  rows: Rows,
  row: Interaction,
  change: Omit<InteractionChange, "version">,
): { interaction: Interaction; change: InteractionChange } {
  const version = row.version + 1;
  const interaction = { ...row, status: change.status, version, changedAt: change.at };
  const noted = { ...change, version };
  putInteraction(rows, interaction);
  rows.remove(DRAFTS, row.session, row.id);
  rows.put(CHANGES, row.session, JSON.stringify([row.id, version]), { id: row.id, change: noted });
  return { interaction, change: noted };
}

/** Removes the user's id from decisions. */
export function clearDecisionAuthor(rows: Rows, session: string, user: string): void {
  for (const row of rows.of(CHANGES, session)) {
    if (row.change.by !== user) continue;
    const key = JSON.stringify([row.id, row.change.version]);
    rows.put(CHANGES, session, key, { ...row, change: { ...row.change, by: null } });
  }
}
