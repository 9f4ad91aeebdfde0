/**
 * `SCHEMA_VERSION` is the schema version that writers set on events and snapshots. Readers receive events of every
 * earlier version from archives, and of the next version during a deploy.
 *
 * Invariant: an increase needs one more step in `events/upgrade.ts`. A version only adds event types, optional fields of
 * events and fields of the state. To rename or remove a field, write both forms in one version and drop the old form in
 * the next, because processes of two versions read the same sessions during a deploy.
 */
export const SCHEMA_VERSION = 1;
