/** The worker of the example runs the agent's turns. If it is killed in mid-answer, the next worker continues. */
import { createMarket } from "./market.ts";
import { runProcess } from "./process-life.ts";

await runProcess(async () => {
  const { app, model } = createMarket();
  await app.worker();
  return { ready: model, leave: () => app.close() };
});
