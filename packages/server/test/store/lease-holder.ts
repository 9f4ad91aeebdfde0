/** A process with a lease and its lock. It prints `held`, and renews the lease until it is killed. */
import { setTimeout as sleep } from "node:timers/promises";
import { openDatabase } from "../../src/store/database/open-database.ts";
import { createPostgresStore } from "../../src/store/create-postgres-store.ts";

const [url = "", executor = ""] = process.argv.slice(2);
const store = createPostgresStore(openDatabase({ url, max: 2, name: executor }));
await store.leases.take(executor, 3_600_000);
if (await store.leases.hold(executor)) {
  await store.leases.renew(executor, 3_600_000);
  console.log("held");
}
for (;;) {
  await sleep(500);
  await store.leases.renew(executor, 3_600_000);
}
