/** The same order: its approval times out. Data only. */
import { orderStory } from "../market-order/order.ts";

export const marketOrderTimedOut = orderStory({
  name: "timed-out",
  choice: null,
  isPlaced: false,
  timeoutMs: 1_000,
});
