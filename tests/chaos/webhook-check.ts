/** `checkDeliveries` waits until every webhook has been delivered, and compares what was committed with what arrived. */
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import type { Figures } from "./figures.ts";
import type { TurnEnvironment } from "./turn-environment.ts";
import type { WebhookReceiver } from "./webhook-receiver.ts";

export const DELIVERY_CHECKS = {
  "committed events that never arrived": { exactly: 0 },
  "events that arrived and were not committed": { exactly: 0 },
  "deliveries that are not recorded as delivered": { exactly: 0 },
  "ids with different bodies": { exactly: 0 },
  "wrong signatures": { exactly: 0 },
} as const;

/** A killed worker's deliveries stay leased for a while, and delays double while the receiver is down. */
export const ARRIVAL_MS = 150_000;

export async function checkDeliveries(
  { backend: { databaseUrl } }: TurnEnvironment,
  { accepted, unverified }: WebhookReceiver,
  figures: Pick<Figures<keyof typeof DELIVERY_CHECKS | "committed events">, "add" | "report">,
): Promise<void> {
  const read = () => runSql(databaseUrl, "select id, state from webhook_deliveries");
  const isComplete = async () => (await read()).every(({ state }) => state !== "pending");
  await until("every delivery to end", isComplete, { timeoutMs: ARRIVAL_MS });
  const rows = await read();
  const committed = new Set(rows.map(({ id }) => String(id)));
  const arrived = [...accepted.keys()];
  const undelivered = rows.filter(({ state }) => state !== "delivered");
  const differing = [...accepted].filter(([, bodies]) => new Set(bodies).size > 1);
  figures.add("committed events", committed.size);
  figures.report(
    "committed events that never arrived",
    [...committed].filter((id) => !accepted.has(id)),
  );
  figures.report(
    "events that arrived and were not committed",
    arrived.filter((id) => !committed.has(id)),
  );
  figures.report(
    "deliveries that are not recorded as delivered",
    undelivered.map(({ id }) => String(id)),
  );
  figures.report(
    "ids with different bodies",
    differing.map(([id]) => id),
  );
  figures.add("wrong signatures", unverified);
}
