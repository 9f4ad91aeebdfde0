/**
 * `SCHEMA_VERSION` is the schema version that writers set on events and snapshots. Readers also receive events of the
 * previous version, during a deploy and from old archives.
 * Invariant: an increase needs a new conversion in `events/upgrade.ts`. Readers don't restore a snapshot of another
 * version.
 */
export const SCHEMA_VERSION = 2;
