/**
 * What the names may look like that log and store both take: both make keys and lines of them, so that a name which
 * only one of them took would be stuck between the two. Rules only.
 */

/** Of a session. */
export const SESSION_ID_PATTERN = /^[\w.@:-]{1,200}$/;
export const SESSION_ID_RULE = "1 to 200 of A-Z a-z 0-9 _ . @ : -";

/** Of a writer; and the key of an outbox row, which becomes the name of its writer. */
export const WRITER_ID_PATTERN = /^[\w.:@/-]{1,300}$/;
export const WRITER_ID_RULE = "1 to 300 of A-Z a-z 0-9 _ . : @ / -";
