/** The worker of the example: runs the agent's turns. Kill it in mid-answer, and the next one goes on. */
import { createDbosEngine, startWorker } from "@turnstream/server";
import { marketAgents } from "../agent/agent.ts";
import { modelsFrom } from "../agent/models.ts";
import { paceOf } from "../agent/pace.ts";
import { WORDS } from "../agent/words.ts";
import { openParts, report } from "./parts.ts";
import { live, setting } from "./process-life.ts";

await live(async () => {
  const pace = paceOf(Number(setting("MARKET_SPEED")));
  const models = modelsFrom(process.env, pace);
  const opened = await openParts();
  const worker = await startWorker({
    ...opened.parts,
    engine: (hooks) => createDbosEngine({ ...hooks, databaseUrl: opened.databaseUrl }),
    agents: marketAgents(models, pace),
    strings: WORDS,
    shutdownGraceMs: 1_000,
    onError: report,
  });
  return {
    ready: models.name,
    async leave() {
      await worker.shutdown();
      await opened.close();
    },
  };
});
