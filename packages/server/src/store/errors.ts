/**
 * `StoreError` is the only error class that the store throws: a code for programs and a message for readers.
 *
 * Invariant: messages name kinds and ids and never contain content, because the gateway sends some of them to clients.
 */
import { createErrorGuard, defineErrors } from "../util/errors.ts";

/** What each code means, and what the caller can do. */
export const STORE_ERRORS = {
  NOT_FOUND:
    "It does not exist, or it belongs to another tenant or user. Check the id, the tenant and the user.",
  EXISTS: "The id is already in use. Choose another id.",
  CONFLICT: "It was changed meanwhile. Read it again before you decide.",
  FENCED: "Another worker has taken over this session. Stop working on it: the journal is safe.",
  INVALID: "The arguments can't be stored. Correct them: a retry doesn't help.",
  TOO_LARGE: "It exceeds a size limit of the store. Store less, or store it elsewhere.",
  BUSY: "Other transactions repeatedly changed the same rows. Retry a little later.",
  ABORTED:
    "The transaction has failed or ended, so it accepts no more calls. Rethrow its first error and start a new transaction.",
  DENIED: "The role may not do this. Run it as the owner of the database, then retry.",
  OUTDATED: "The database schema is newer than this version: deploy the newer version.",
  OTHER_BASELINE:
    "Another unreleased version created these tables, and they can't be migrated: drop the schema, or use an empty database.",
  NOT_MIGRATED:
    "The database does not have the tables of this version or of a feature. Run `turnstream migrate` first, with `--feature` and the package of each feature.",
  UNAVAILABLE:
    "The database or the object storage can't be reached or refuses requests. Retry; if the error persists, read its log.",
  UNSUPPORTED: "This store keeps only what turns need. Use the store on PostgreSQL.",
  INTERNAL:
    "The database refused a statement that should have worked. This is a bug: report it with its cause.",
} as const;

export type StoreErrorCode = keyof typeof STORE_ERRORS;

export class StoreError extends defineErrors("StoreError", STORE_ERRORS) {}

export const isStoreError = createErrorGuard(StoreError);
