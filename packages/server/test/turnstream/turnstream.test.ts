/** Runs the contract of `turnstream()` in a folder, and tests what needs no servers. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createDataFolder } from "@turnstream/testkit/util/data-folder.ts";
import { expect, onTestFinished, test } from "vitest";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import type { TurnstreamOptions } from "../../src/turnstream/options.ts";
import { turnstream } from "../../src/turnstream/turnstream.ts";
import { turnstreamContract } from "./turnstream.contract.ts";

turnstreamContract("in a folder", async () => ({ dataFolder: await createDataFolder() }));

const AGENTS = [defineAgent({ name: "a", title: false, model: scriptedModel([[]]) })];

test("prints once where the data is", async () => {
  const dataFolder = await createDataFolder();
  const lines: string[] = [];
  const app = turnstream({
    agents: AGENTS,
    user: () => "an",
    print: (line) => lines.push(line),
    dataFolder,
  });
  await app.listen(0);
  await app.gateway();
  expect(lines.filter((line) => line.includes("The data is in"))).toEqual([
    `The data is in ${dataFolder}. Delete the folder to start again.`,
  ]);
  await app.close();
});

test("a wrong setting is refused at the call, before anything is opened", () => {
  expect(() => turnstream({ agents: AGENTS, user: () => null, databaseUrl: "postgres://x@y/z" })).toThrow(
    "REDIS_URL",
  );
});

test.each([
  ["`datFolder` is not an option of turnstream() (did you mean `dataFolder`?)", { datFolder: "data" }],
  ["`dataDir` is not an option of turnstream() (there are databaseUrl, redisUrl,", { dataDir: "data" }],
  [
    "`allowedOrigin` is not an option of `gateway` of turnstream() (did you mean `allowedOrigins`?)",
    { gateway: { allowedOrigin: [] } },
  ],
  [
    "`defaultLocal` is not an option of `worker` of turnstream() (did you mean `defaultLocale`?)",
    { worker: { defaultLocal: "vi" } },
  ],
  ["`store` is not an option of `worker` of turnstream()", { worker: { store: {} } }],
  ["`user` of turnstream() is missing", { user: undefined }],
])("an option that can't be used is refused at the call: %s", (message, options) => {
  expect(() => turnstream({ agents: AGENTS, user: () => "an", ...options } as TurnstreamOptions)).toThrow(
    expect.objectContaining({ code: "BAD_OPTIONS", message: expect.stringContaining(message) }),
  );
});

test("serves a page beside the gateway", async () => {
  const app = turnstream({
    agents: AGENTS,
    user: () => "an",
    print: false,
    dataFolder: await createDataFolder(),
    page: (request) =>
      new URL(request.url).pathname === "/"
        ? new Response("<h1>Hi</h1>", { headers: { "content-type": "text/html" } })
        : null,
  });
  onTestFinished(() => app.close());
  const url = await app.listen(0);
  const found = await fetch(url);
  expect([found.status, found.headers.get("content-type"), await found.text()]).toEqual([
    200,
    "text/html",
    "<h1>Hi</h1>",
  ]);
  expect((await fetch(`${url}/other`)).status).toBe(404);
  expect((await fetch(url, { method: "POST" })).status).toBe(404);
  expect((await fetch(`${url}/api/v1/sessions`)).status).toBe(401);
});

test.each(["SIGTERM", "SIGINT"] as const)("a process that listens ends in order at %s", async (signal) => {
  const file = fileURLToPath(new URL("listening-process.ts", import.meta.url));
  const child = spawn(process.execPath, ["--conditions=@turnstream/source", file], {
    cwd: await createDataFolder(),
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, DATABASE_URL: "", REDIS_URL: "" },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let printed = "";
  child.stderr.on("data", (data: Buffer) => (printed += data.toString()));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  expect((await fetch(`${line.toString().trim()}/health`)).status).toBeLessThan(500);
  child.kill(signal);
  // As npm does, after a terminal has.
  child.kill(signal);
  const [code] = (await once(child, "exit")) as [number | null];
  expect(printed).toContain("Turnstream listens on http://127.0.0.1:");
  expect(code).toBe(0);
});
