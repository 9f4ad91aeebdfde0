/** `migratedDatabaseUrl` creates databases on the shared server for tests, as copies of one that was migrated once. */
import { preparedDatabaseUrl } from "../servers/shared-servers.ts";
import { migrateDatabase } from "./migrate-database.ts";

export function migratedDatabaseUrl(): Promise<string> {
  return preparedDatabaseUrl("turnstream_template", migrateDatabase);
}
