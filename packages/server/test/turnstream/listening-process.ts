/** A program for tests: `turnstream()` without settings on a free port, with a turn that runs for a minute. */
import { script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import { turnstream } from "../../src/turnstream/turnstream.ts";

const model = scriptedModel([[script.text("One moment."), script.delay(60_000), script.text("Done.")]]);
const app = turnstream({ agents: [defineAgent({ name: "slow", title: false, model })], user: () => "an" });
const url = await app.listen(0);
const { id } = await app.sessions.create({ user: "an" });
await app.sessions.send(id, "Hi");
while ((await app.sessions.read(id)).state.turns.length === 0)
  await new Promise((resolve) => setTimeout(resolve, 10));
process.stdout.write(`${url}\n`);
