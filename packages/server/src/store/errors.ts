/**
 * The one kind of error that the store throws: a code for programs, words for people, never any content.
 * Never decides what to do about it.
 */
import { createErrorGuard, defineErrors } from "../util/errors.ts";

/** What went wrong, and what the caller can do about it. */
export const STORE_ERRORS = {
  NOT_FOUND: "It isn't there, or it belongs to somebody else. Check the id, the tenant and the user.",
  EXISTS: "Something else has this id already. Choose another id.",
  CONFLICT: "It changed in the meantime. Read it again, then decide anew.",
  FENCED: "Somebody else has taken this session over. Stop working on it; what is journaled is safe.",
  INVALID: "The arguments can't be stored as they are. Correct them; trying again doesn't help.",
  TOO_LARGE: "It is larger than the store takes. Store less, or keep it elsewhere.",
  BUSY: "Others were changing the same rows all the time. Try again a little later.",
  ABORTED:
    "The transaction has failed or is over, so nothing more is done in it. Let its first error through and start a new one.",
  OUTDATED: "The database is newer than this version: deploy the newer version.",
  NOT_MIGRATED: "The database hasn't the tables of this version. Run `turnstream migrate` first.",
  UNAVAILABLE: "The database can't be reached or refuses work. Try again; look at its log if it persists.",
  INTERNAL:
    "The database refused a statement that should have worked. This is a bug; report it with the cause.",
} as const;

export type StoreErrorCode = keyof typeof STORE_ERRORS;

export class StoreError extends defineErrors("StoreError", STORE_ERRORS) {}

export const isStoreError = createErrorGuard(StoreError);
