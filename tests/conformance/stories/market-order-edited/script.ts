/** The same order, and the user edits its arguments. Data only. */
import { orderStory } from "../market-order/order.ts";

export const marketOrderEdited = orderStory({
  name: "edited",
  choice: { decision: "edit", input: { symbol: "VNM", quantity: 50 } },
  isPlaced: true,
});
