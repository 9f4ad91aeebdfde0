/**
 * `putInteraction`, `putChange` and their readers access the rows of interactions and their changes in memory. They do
 * not decide whether a change is allowed.
 *
 * Invariant: only `putChange` changes a status. It increases the version by one, records the change and deletes the
 * form draft, so versions have no gaps.
 */
import type { FormDraft, Interaction, InteractionChange, SessionRef } from "@turnstream/server/internal";
import type { Json } from "@turnstream/protocol";
import { type Rows, sessionTable } from "./tables.ts";

const INTERACTIONS = sessionTable<Interaction>("interactions");
const CHANGES = sessionTable<{ readonly id: string; readonly change: InteractionChange }>(
  "interaction_changes",
);

const SCHEMAS = sessionTable<string>("interaction_schemas");

export function putSchema(rows: Rows, row: Interaction, text: string | null): void {
  if (text !== null) rows.put(SCHEMAS, row, row.id, text);
}

export function schemaOf(rows: Rows, row: Interaction): Json {
  return JSON.parse(rows.get(SCHEMAS, row, row.id) ?? "null") as Json;
}
export const DRAFTS = sessionTable<FormDraft>("form_drafts");

export function findInteraction(rows: Rows, ref: SessionRef, id: string): Interaction | undefined {
  return rows.get(INTERACTIONS, ref, id);
}

/** Returns interactions in the order of their requests. */
export function interactionsOf(rows: Rows, ref: SessionRef): Interaction[] {
  return rows.of(INTERACTIONS, ref).toSorted((a, b) => a.n - b.n);
}

/** Returns the interactions of all sessions. */
export function allInteractions(rows: Rows): Interaction[] {
  return rows.all(INTERACTIONS);
}

export function putInteraction(rows: Rows, row: Interaction): void {
  rows.put(INTERACTIONS, row, row.id, row);
}

export function changesOf(rows: Rows, of: Interaction): InteractionChange[] {
  return rows
    .of(CHANGES, of)
    .filter(({ id }) => id === of.id)
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
  rows.remove(DRAFTS, row, row.id);
  rows.put(CHANGES, row, JSON.stringify([row.id, version]), { id: row.id, change: noted });
  return { interaction, change: noted };
}

/** Removes the user's id from decisions. */
export function clearDecisionAuthor(rows: Rows, ref: SessionRef, user: string): void {
  for (const row of rows.of(CHANGES, ref)) {
    if (row.change.by !== user) continue;
    const key = JSON.stringify([row.id, row.change.version]);
    rows.put(CHANGES, ref, key, { ...row, change: { ...row.change, by: null } });
  }
}
