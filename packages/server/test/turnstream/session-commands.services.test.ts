/** Runs the contract of the commands on sessions on PostgreSQL and Redis, and tests that a restart keeps the answer. */
import { fileURLToPath } from "node:url";
import { ChildProgram } from "@turnstream/testkit/processes/child-program.ts";
import { migratedDatabaseUrl } from "@turnstream/testkit/backend/migrated-database-url.ts";
import { sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { expect, onTestFinished, test } from "vitest";
import { script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import { turnstream } from "../../src/turnstream/turnstream.ts";
import { sessionCommandsContract } from "./session-commands.contract.ts";

const openSettings = async () => ({
  databaseUrl: await migratedDatabaseUrl(),
  redisUrl: sharedRedisUrl(),
  secret: "s".repeat(32),
});

sessionCommandsContract("on servers", openSettings);

test("after kill -9 and a restart, the same message id continues and repeats the same turn", async () => {
  const settings = await openSettings();
  const open = (answer: string) => {
    const agent = defineAgent({
      name: "helper",
      title: false,
      model: scriptedModel([[script.text(answer)]]),
    });
    const app = turnstream({ ...settings, agents: [agent], user: () => "an", print: false });
    onTestFinished(() => app.close());
    return app;
  };
  const file = fileURLToPath(new URL("asking-process.ts", import.meta.url));
  const killed = await ChildProgram.start<{ readonly text: string }>({ file, settings });
  await killed.kill();

  const second = open("The answer.");
  const { id } = await second.sessions.create({ user: "an", id: "s1" });
  expect(await second.sessions.ask(id, { id: "m1", text: "Hi" })).toBe("The answer.");
  const { id: turn } = await second.sessions.waitForTurn(id, "m1");
  await second.close();

  const third = open("Another answer.");
  expect(await third.sessions.ask(id, { id: "m1", text: "Hi" })).toBe("The answer.");
  const events = [];
  for await (const event of third.sessions.stream(id, { id: "m1", text: "Hi" })) events.push(event);
  expect(events[0]).toMatchObject({ type: "turn.start", turn });
  expect(events.filter(({ type }) => type === "turn.takeover")).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ type: "turn.end", reason: "end_turn" });
});
