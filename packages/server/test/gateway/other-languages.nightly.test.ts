/** Runs the shell and Python programs of docs/http.md as printed, over a connection that is cut. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { readFences } from "@turnstream/conformance/support/markdown.ts";
import { startProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import { TurnHarness } from "../engine/turn-harness.ts";
import { createMemoryBackend, openServer, type TestServer } from "./test-server.ts";

const page = readFileSync(new URL("../../../../docs/http.md", import.meta.url), "utf8");
const ANSWER = Array.from({ length: 600 }, (_, n) => `word ${n}, `).join("");

let stage: TurnHarness;
let server: TestServer;

beforeEach(async () => {
  stage = await TurnHarness.open(createMemoryBackend());
  const model = scriptedModel([[script.text(ANSWER, { chunk: 90, paceMs: 20 })]]);
  await stage.worker([defineAgent({ name: "a", title: false, model })], { leaseTtlMs: 20_000 });
  server = await openServer(stage.backend, { actor: { ...stage.actor, user: "an" } });
});

afterEach(async () => {
  await server.close();
  await stage.close();
});

const codeOf = (language: string) => readFences(page).find(({ info }) => info === language)?.body ?? "";

async function run(command: string, args: readonly string[], api: string): Promise<string> {
  const env = { ...process.env, API: api, KEY: server.key.secret };
  const child = spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const [output, failed] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(failed).toBe("");
  return output;
}

test("the shell session prints what the page shows", async () => {
  const output = await run("bash", ["-euo", "pipefail", "-c", codeOf("bash")], server.url);
  expect(output).toContain("event: response.output_text.completed");
  expect(output).toContain('"status":"completed"');
  expect(output).toContain('"interactions":[]');
  expect(output).toContain('"agent_status":"idle"');
  expect(output).toContain('"over"');
});

test("the Python reader resumes with Last-Event-ID after a cut", async () => {
  const { session_id: id } = (await server.request("POST", "/sessions", { body: {} })).json as {
    session_id: string;
  };
  const { hostname, port } = new URL(server.url);
  const proxy = await startProxy({ to: { host: hostname, port: Number(port) } });
  proxy.cutAfter(3_000, "toClient");
  const api = `http://${proxy.host}:${proxy.port}`;
  expect(await run("python3", ["-c", codeOf("python"), id, "hello"], api)).toBe(`${ANSWER}\n`);
  expect(proxy.counters()).toMatchObject({ cutMidway: 1, accepted: 2 });
  await proxy.close();
});
