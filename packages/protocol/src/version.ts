/**
 * The schema version that writers set on events. Readers also receive the previous version, during a deploy and from
 * old archives. `events/upgrade.ts` describes the changes.
 */
export const SCHEMA_VERSION = 2;
