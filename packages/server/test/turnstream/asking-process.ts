/** A program for tests: asks with the settings that it gets, and reports when its model has written the first text. */
import { connectParent, readSettings } from "@turnstream/testkit/processes/parent-process.ts";
import { script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import type { ServerSettings } from "../../src/turnstream/settings.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import { turnstream } from "../../src/turnstream/turnstream.ts";

const parent = connectParent<object, { readonly text: string }>();
const model = scriptedModel([[script.text("Never complete."), script.hang()]]);
const app = turnstream({
  ...(readSettings() as ServerSettings),
  agents: [defineAgent({ name: "helper", title: false, model })],
  user: () => "an",
  print: false,
});
const { id } = await app.sessions.create({ user: "an", id: "s1" });
for await (const text of app.sessions.stream(id, { id: "m1", text: "Hi" }).text()) parent.send({ text });
