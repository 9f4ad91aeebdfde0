/**
 * The schema version that writers put on events. Readers also meet the version before it, during a deploy
 * and in old archives; `events/upgrade.ts` tells what changed.
 */
export const SCHEMA_VERSION = 2;
