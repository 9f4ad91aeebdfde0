/**
 * `Allowances` is the part of the store for permissions without approval, and `postgresAllowances` its implementation.
 *
 * Invariant: the first allowance of a tool stays while its digest stays.
 */
import type { SessionRef } from "../util/refs.ts";
import type { Db } from "./database/database.ts";
import { ofSession, requireSession, rowOf, clock } from "./database/session-row.ts";
import { checkIds, MAX_BATCH } from "./rules/arguments.ts";

/** Permission for a tool of an agent to run without approval for the rest of a session. */
export interface NewAllowance {
  readonly agent: string;
  readonly tool: string;
  /** Digest of the tool's description and input schema. The allowance holds only while they don't change. */
  readonly digest: string;
  readonly by?: string;
}

export interface Allowance {
  readonly agent: string;
  readonly tool: string;
  readonly digest: string;
  /** Null if no user was named, or the user was erased. */
  readonly by: string | null;
  readonly at: number;
}

/** The part of the store for allowances. It does not decide whether a tool needs approval. */
export interface Allowances {
  /**
   * Adds an allowance, or replaces one with another digest. Returns "already" if the tool has one with this digest; the
   * first one stays.
   * @throws StoreError with NOT_FOUND if the session does not exist.
   */
  add(ref: SessionRef, allowance: NewAllowance): Promise<"added" | "already">;
  find(ref: SessionRef, agent: string, tool: string): Promise<Allowance | null>;
  /** Returns the oldest first, at most 1,000. */
  list(ref: SessionRef): Promise<Allowance[]>;
  /** Returns false if there is none. */
  remove(ref: SessionRef, agent: string, tool: string): Promise<boolean>;
}

export function postgresAllowances(db: Db): Allowances {
  const inSession = (ref: SessionRef) =>
    ofSession(db.selectFrom("allowances"), ref).select([
      "agent",
      "tool",
      "digest",
      "by_user as by",
      "given_at as at",
    ]);
  return {
    async add(ref, allowance) {
      const { agent, tool, digest, by } = allowance;
      checkIds({ agent, tool, digest, by }, "allowance");
      await requireSession(db, ref);
      const { numInsertedOrUpdatedRows } = await db
        .insertInto("allowances")
        .values({ ...rowOf(ref), agent, tool, digest, by_user: by ?? null })
        .onConflict((conflict) =>
          conflict
            .columns(["tenant_id", "session_id", "agent", "tool"])
            .doUpdateSet({ digest, by_user: by ?? null, given_at: clock })
            .where("allowances.digest", "<>", digest),
        )
        .executeTakeFirst();
      return numInsertedOrUpdatedRows === 1n ? "added" : "already";
    },
    async find(ref, agent, tool) {
      const row = await inSession(ref).where("agent", "=", agent).where("tool", "=", tool).executeTakeFirst();
      return row ?? null;
    },
    list: (ref) => inSession(ref).orderBy("n").limit(MAX_BATCH).execute(),
    async remove(ref, agent, tool) {
      const { numDeletedRows } = await ofSession(db.deleteFrom("allowances"), ref)
        .where("agent", "=", agent)
        .where("tool", "=", tool)
        .executeTakeFirst();
      return numDeletedRows === 1n;
    },
  };
}
