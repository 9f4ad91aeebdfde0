/** The same order, on which nobody decides in time. Data only. */
import { orderStory } from "../market-order/order.ts";

export const marketOrderTimedOut = orderStory({
  name: "timed-out",
  choice: null,
  isPlaced: false,
  timeoutMs: 1_000,
});
