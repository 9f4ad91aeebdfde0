/** The same order, of which the person changes the arguments. Data only. */
import { orderStory } from "../market-order/order.ts";

export const marketOrderEdited = orderStory({
  name: "edited",
  choice: { decision: "edit", input: { symbol: "VNM", quantity: 50 } },
  isPlaced: true,
});
