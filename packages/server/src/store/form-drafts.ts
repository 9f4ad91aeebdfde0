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
  /** Returns null if there is no draft, as after the decision. */
  get(ref: SessionRef, interaction: string): Promise<FormDraft | null>;
}

const MAX_BYTES = 65_536;

/** @returns the values as they are stored */
export function checkDraft(values: Json): string {
  return checkJson(values, "form draft", MAX_BYTES);
}

/** The columns of a `FormDraft`. */
const DRAFT = ["body as values", "version", "saved_at as savedAt"] as const;

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
        return tx
          .insertInto("form_drafts")
          .values({ ...rowOf(ref), interaction_id: interaction, body, version: 1, saved_at: clock })
          .onConflict((conflict) =>
            conflict.columns(["tenant_id", "session_id", "interaction_id"]).doUpdateSet({
              body,
              version: sql<number>`form_drafts.version + 1`,
              saved_at: clock,
            }),
          )
          .returning(DRAFT)
          .executeTakeFirstOrThrow();
      });
    },

    async get(ref, interaction) {
      const row = await ofSession(db.selectFrom("form_drafts"), ref)
        .select(DRAFT)
        .where("interaction_id", "=", interaction)
        .executeTakeFirst();
      return row ?? null;
    },
  };
}
