/** `SCENARIOS` lists every scenario by the name that `npm run chaos -- NAME` takes. */
import { approvalKill } from "./approval-kill.ts";
import { decisions } from "./decisions.ts";
import { deploy } from "./deploy.ts";
import { failoverProxied } from "./disturbances/failover-proxied.ts";
import { postgresSplit } from "./disturbances/postgres-split.ts";
import { pairs } from "./disturbances/pairs.ts";
import { partitions } from "./disturbances/partitions.ts";
import { clockJump } from "./disturbances/clock-jump.ts";
import { placement } from "./disturbances/placement.ts";
import { poison } from "./disturbances/poison.ts";
import { postgresFrozen } from "./disturbances/postgres-frozen.ts";
import { redisLate } from "./disturbances/redis-late.ts";
import { redisRestart } from "./disturbances/redis-restart.ts";
import { rollingDeploy } from "./disturbances/rolling-deploy.ts";
import { diskFull } from "./disk-full.ts";
import { erasure } from "./erasure.ts";
import { gateways } from "./gateways.ts";
import { outboxKill } from "./outbox-kill.ts";
import { outboxWipe } from "./outbox-wipe.ts";
import { paymentKill } from "./payment-kill.ts";
import { paymentLostNotify } from "./payment-lost-notify.ts";
import { paymentRaces } from "./payment-races.ts";
import { postgresFailover } from "./postgres-failover.ts";
import { postgresKill } from "./postgres-kill.ts";
import { failover } from "./failover.ts";
import { frozenWorker } from "./frozen-worker.ts";
import { frozenWriter } from "./frozen-writer.ts";
import { redisFull } from "./redis-full.ts";
import { redisKill } from "./redis-kill.ts";
import { redisWipe } from "./redis-wipe.ts";
import { resumeCuts } from "./resume-cuts.ts";
import type { Scenario } from "./scenario.ts";
import { slowClient } from "./slow-client.ts";
import { toolStartKill } from "./tool-start-kill.ts";
import { versionSkew } from "./version-skew.ts";
import { webhookKill } from "./webhook-kill.ts";
import { webhookOutage } from "./webhook-outage.ts";
import { workerKill } from "./worker-kill.ts";

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  "redis-kill": redisKill,
  failover,
  "redis-wipe": redisWipe,
  "frozen-writer": frozenWriter,
  "postgres-kill": postgresKill,
  "outbox-kill": outboxKill,
  "outbox-wipe": outboxWipe,
  erasure,
  "worker-kill": workerKill,
  "frozen-worker": frozenWorker,
  "tool-start-kill": toolStartKill,
  deploy,
  decisions,
  "approval-kill": approvalKill,
  "payment-races": paymentRaces,
  "payment-kill": paymentKill,
  "payment-lost-notify": paymentLostNotify,
  "resume-cuts": resumeCuts,
  gateways,
  "slow-client": slowClient,
  "webhook-kill": webhookKill,
  "webhook-outage": webhookOutage,
  poison,
  "rolling-deploy": rollingDeploy,
  "redis-restart": redisRestart,
  "postgres-frozen": postgresFrozen,
  placement,
  "redis-late": redisLate,
  "failover-proxied": failoverProxied,
  partitions,
  "postgres-split": postgresSplit,
  pairs,
  "clock-jump": clockJump,
  "redis-full": redisFull,
  "postgres-failover": postgresFailover,
  "version-skew": versionSkew,
  "disk-full": diskFull,
};
