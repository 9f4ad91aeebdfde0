/** Runs the contract of the gateway's audit on PostgreSQL and Redis. */
import { openBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { migratedDatabaseUrl } from "@turnstream/testkit/backend/migrated-database-url.ts";
import { freshPrefix, sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { gatewayAuditContract } from "./gateway-audit.contract.ts";

gatewayAuditContract("servers", async () =>
  openBackend({
    databaseUrl: await migratedDatabaseUrl(),
    redisUrl: sharedRedisUrl(),
    keyPrefix: freshPrefix(),
  }),
);
