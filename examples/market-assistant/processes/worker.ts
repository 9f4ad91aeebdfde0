/** The worker of the example runs the agent's turns. If it is killed in mid-answer, the next worker continues. */
import { createDbosEngine, startWorker } from "@turnstream/server";
import { marketAgents } from "../agent/agent.ts";
import { createModels } from "../agent/models.ts";
import { createPace } from "../agent/pace.ts";
import { openBackend, report } from "./backend.ts";
import { runProcess, readSetting } from "./process-life.ts";

await runProcess(async () => {
  const pace = createPace(Number(readSetting("MARKET_SPEED")));
  const models = createModels(process.env, pace);
  const opened = await openBackend();
  const worker = await startWorker({
    ...opened.backend,
    engine: (hooks) => createDbosEngine({ ...hooks, databaseUrl: opened.databaseUrl }),
    agents: marketAgents(models, pace),
    // The language of the first agent, which answers clients that name neither an agent nor a language.
    defaultLocale: "vi",
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
