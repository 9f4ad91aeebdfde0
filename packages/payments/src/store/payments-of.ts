/** `paymentsOf` returns the payments of a store, or of the transaction that it is. */
import type { Store, StorePart } from "@turnstream/server/internal";
import type { Payments } from "./payments-part.ts";
import { postgresPayments } from "./payments-sql.ts";

const part: StorePart<Payments> = { name: "payments", create: postgresPayments };

export function paymentsOf(store: Pick<Store, "use">): Payments {
  return store.use(part);
}
