/** The rows of orders in memory, for those who only have to know whether there is one. */
import type { Order } from "../ports/payments.ts";
import { type Rows, table } from "./tables.ts";

export interface OrderRow {
  readonly order: Order;
  readonly nextCheckAt: number | null;
}

export const ORDERS = table<OrderRow>("payments", "session");

export function isOrdered(rows: Rows, session: string, interaction: string): boolean {
  return rows.of(ORDERS, session).some(({ order }) => order.interaction === interaction);
}
