/**
 * `SESSION_ID_PATTERN` and `WRITER_ID_PATTERN` define the names that log and store both accept. Constants only.
 * Invariant: log and store build keys from these names and use the same patterns. If only one of them accepted a name,
 * the data under that name could not be moved between the two. Each `…_RULE` describes its pattern. A narrower pattern
 * would lock out stored data.
 */

/** Session ids. */
export const SESSION_ID_PATTERN = /^[\w.@:-]{1,200}$/;
export const SESSION_ID_RULE = "1 to 200 of A-Z a-z 0-9 _ . @ : -";

/** Writer ids, and the keys of outbox rows, because an outbox key becomes the id of its writer. */
export const WRITER_ID_PATTERN = /^[\w.:@/-]{1,300}$/;
export const WRITER_ID_RULE = "1 to 300 of A-Z a-z 0-9 _ . : @ / -";
