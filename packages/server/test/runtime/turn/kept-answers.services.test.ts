/**
 * Tests on real servers that a restart of Redis, a frozen PostgreSQL and a worker that alone loses Redis repeat no
 * model call that this process can keep. An HTTP server stands in for the provider and counts the calls.
 */
import { createAnthropic } from "@ai-sdk/anthropic";
import { anthropicWire } from "@turnstream/testkit/model-servers/anthropic-server.ts";
import { startModelServer } from "@turnstream/testkit/model-servers/model-server.ts";
import { migrateDatabase } from "@turnstream/testkit/backend/migrate-database.ts";
import { migratedDatabaseUrl } from "@turnstream/testkit/backend/migrated-database-url.ts";
import { startPostgres } from "@turnstream/testkit/servers/start-postgres.ts";
import { startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";
