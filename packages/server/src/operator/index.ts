/**
 * `@turnstream/server/operator` exports the functions with which operators find turns that hang and servers that are set
 * up wrongly, and the settings of servers. The command `turnstream` uses them.
 * Invariant: every name here is public. Lists name a tenant and a limit, and no result contains what a user or a model
 * wrote.
 */
// oxlint-disable-next-line import/no-unassigned-import -- it must run before all other imports
import "../util/require-node.ts";
export { type DatabaseStatus, readDatabaseStatus } from "./read-database-status.ts";
export { deleteUnknownObjects, type UnknownObjects } from "./delete-unknown-objects.ts";
export { explainTurn, formatAge, type TurnExplanation, type TurnFacts } from "./explain-turn.ts";
export {
  DEFAULT_TENANT,
  explainServerError,
  readAuditKeys,
  readAuditOptions,
  requireDatabaseUrl,
  requireRedisUrl,
  requireSecret,
  resolveSettings,
  type Setting,
  type Settings,
} from "./settings.ts";
export { readRedisStatus, type RedisStatus } from "./read-redis-status.ts";
export { type OperatorBackend, readTurnReport, type TurnReport } from "./read-turn-report.ts";
export {
  findNewestSession,
  findTurn,
  type ListedTurn,
  listFailedTurns,
  listUnfinishedTurns,
  MAX_TURNS,
  readWorkers,
} from "./turn-rows.ts";
export { isSupportedNode, MIN_NODE } from "../util/require-node.ts";
