/**
 * `FormDrafts` is the part of the store for drafts of forms, and `postgresFormDrafts` its implementation.
 *
 * Invariant: saving a draft locks the pending form first, so that a concurrent decision never leaves a draft behind.
 */
import type { Json } from "@turnstream/protocol";
import { sql } from "kysely";
import type { SessionRef } from "../util/refs.ts";
import type { Db } from "./database/database.ts";
import { inTransaction, lockSessionRow, ofSession, rowOf, clock } from "./database/session-row.ts";
import { checkJson } from "./rules/arguments.ts";

/** The values that a user has entered into a pending form so far, stored to survive a reload. */
export interface FormDraft {
  readonly values: Json;
  /** 1 for the first save; every save adds 1. */
  readonly version: number;
  readonly savedAt: number;
}

/**
 * The part of the store for form drafts. A draft is deleted when the form is decided, and with its session. Values are not
 * validated against the form.
 */
export interface FormDrafts {
  /**
   * Replaces the draft. Returns null and stores nothing if the interaction is not a pending form.
   * @throws StoreError with NOT_FOUND if the session does not exist, with TOO_LARGE above 64 kB.
   */
  save(ref: SessionRef, interaction: string, values: Json): Promise<FormDraft | null>;
  /** Returns null if there is no draft, or the form is no longer pending. */
  get(ref: SessionRef, interaction: string): Promise<FormDraft | null>;
}

const MAX_BYTES = 65_536;

/** @returns the values as they are stored */
export function checkDraft(values: Json): string {
  return checkJson(values, "form draft", MAX_BYTES);
}

/** `interactions.ts` deletes the draft when the form is decided. */
export function postgresFormDrafts(db: Db): FormDrafts {
  return {
    async save(ref, interaction, values) {
      const body = checkDraft(values);
      return inTransaction(db, async (tx) => {
        await lockSessionRow(tx, ref);
        // A shared lock: a concurrent decision waits and then finds the draft, or this query finds the decision.
        const form = await ofSession(tx.selectFrom("interactions"), ref)
          .select("id")
          .where("id", "=", interaction)
          .where("kind", "=", "form")
          .where("status", "=", "pending")
          .forShare()
          .executeTakeFirst();
        if (form === undefined) return null;
        const row = await tx
          .insertInto("form_drafts")
          .values({ ...rowOf(ref), interaction_id: interaction, body, version: 1, saved_at: clock })
          .onConflict((conflict) =>
            conflict.columns(["tenant_id", "session_id", "interaction_id"]).doUpdateSet({
              body,
              version: sql<number>`form_drafts.version + 1`,
              saved_at: clock,
            }),
          )
          .returningAll()
          .executeTakeFirstOrThrow();
        return draftOf(row);
      });
    },

    async get(ref, interaction) {
      const row = await db
        .selectFrom("form_drafts as d")
        .innerJoin("interactions as i", (join) =>
          join
            .onRef("i.tenant_id", "=", "d.tenant_id")
            .onRef("i.session_id", "=", "d.session_id")
            .onRef("i.id", "=", "d.interaction_id"),
        )
        .where("d.tenant_id", "=", ref.tenant)
        .where("d.session_id", "=", ref.session)
        .where("d.interaction_id", "=", interaction)
        .where("i.status", "=", "pending")
        .selectAll("d")
        .executeTakeFirst();
      return row === undefined ? null : draftOf(row);
    },
  };
}

function draftOf(row: { readonly body: Json; readonly version: number; readonly saved_at: number }) {
  return { values: row.body, version: row.version, savedAt: row.saved_at };
}
