/**
 * Tests `turnstream dev` with its data in a folder: it is killed and started again, as a developer does. It needs no
 * server, but starts a database in each process.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AgentFolder, ApiUser, CliProcess, runCli } from "./cli-process.ts";

const AGENT = `
import { appendFileSync, existsSync } from "node:fs";
import { defineAgent, tool } from "@turnstream/server";
import { script, scriptedModel } from "@turnstream/server/testing";

const note = (line) => appendFileSync("calls.txt", line + "\\n");
const buy = tool({ approval: true, run: () => (note("buy"), "bought") });
const wait = tool({
  idempotent: true,
  async run() {
    note("wait");
    while (!existsSync("done.txt")) await new Promise((resolve) => setTimeout(resolve, 50));
    return "waited";
  },
});
const model = scriptedModel(({ text, step }) => {
  note("model " + text + " " + step);
  if (step === 0 && text === "buy") return [script.toolCall("buy", {})];
  if (step === 0 && text === "wait") return [script.text("Please wait."), script.toolCall("wait", {})];
  return [script.text("Answer to " + text)];
});
export default defineAgent({ name: "helper", title: false, model, tools: { buy, wait } });
`;

const TIMEOUT_MS = 480_000;
/** The creation of a database takes about ten seconds of processor time, which a busy machine doesn't have for minutes. */
const START_MS = 240_000;
const KILLS = 3;

let folder: AgentFolder;
let cli: CliProcess;

// All tests use one folder, because the creation of a database takes longest.
beforeAll(async () => {
  folder = await AgentFolder.create({ "agent.ts": AGENT });
  mkdirSync(join(folder.path, "page"));
  folder.write({ "page/index.html": "<h1>A page</h1>" });
});

afterAll(async () => {
  await kill();
  folder.remove();
});

async function start(): Promise<ApiUser> {
  cli = new CliProcess(folder.path, ["dev", "--json", "--port", "0", "--page", "page"]);
  return ApiUser.signIn(String((await cli.ready(START_MS))["url"]));
}

async function kill(): Promise<void> {
  cli.kill();
  await cli.exited;
}

const readCalls = (): string[] => {
  const file = join(folder.path, "calls.txt");
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
};

const readTexts = async (user: ApiUser, session: string): Promise<string> =>
  JSON.stringify(await user.get(`/sessions/${session}/history`));

test(
  "after a kill, sessions and a pending approval are there, and an unfinished turn continues",
  async () => {
    const first = await start();
    expect(cli.err).toContain("The data is in .turnstream.");
    const [session, other] = [await first.createSession(), await first.createSession()];
    expect(await first.ask(session, "one")).toBe("Answer to one");
    const asked = await first.post(`/sessions/${session}/messages`, { text: "buy" });
    expect(asked).toMatchObject({ status: "requires_interaction" });
    first.post(`/sessions/${other}/messages`, { text: "wait" }).catch(() => undefined);
    await expect.poll(readCalls).toContain("wait");
    await kill();
    folder.write({ "done.txt": "" });

    const user = await start();
    expect(await readTexts(user, session)).toContain("Answer to one");
    const pending = await user.get(`/sessions/${session}/interactions?status=pending`);
    const [approval] = pending["interactions"] as { readonly key: string }[];
    expect(readCalls()).not.toContain("buy");
    await user.post(`/sessions/${session}/interactions/${approval?.key}/decide`, { decision: "approve" });
    await expect.poll(() => readTexts(user, session)).toContain("Answer to buy");
    await expect.poll(() => readTexts(user, other)).toContain("Answer to wait");
    // The model was called once for each step. Of the tools, only the one that may be repeated ran again.
    expect(readCalls().filter((call) => call.includes("buy"))).toEqual(["model buy 0", "buy", "model buy 1"]);
    expect(readCalls().filter((call) => call.includes("wait"))).toEqual([
      "model wait 0",
      "wait",
      "wait",
      "model wait 1",
    ]);
    await kill();
  },
  TIMEOUT_MS,
);

test(
  "loses no answer when it is killed while it writes",
  async () => {
    const sessions: string[] = [];
    const answered: [session: string, text: string][] = [];
    for (let round = 0; round < KILLS; round++) {
      const user = await start();
      const fresh = await Promise.all(Array.from({ length: 4 }, () => user.createSession()));
      const asked = fresh.map(async (session, n) => {
        const text = `message ${round}.${n}`;
        if ((await user.ask(session, text)) === `Answer to ${text}`) answered.push([session, text]);
      });
      await Promise.any(asked);
      void Promise.allSettled(asked);
      await kill();
      sessions.push(...fresh);
    }
    const user = await start();
    expect(answered.length).toBeGreaterThanOrEqual(KILLS);
    for (const [session, text] of answered)
      expect(await readTexts(user, session)).toContain(`Answer to ${text}`);
    for (const session of sessions) expect(await user.ask(session, "again")).toBe("Answer to again");
  },
  TIMEOUT_MS,
);

test(
  "a second process is refused, and Ctrl-C leaves a folder that the next one opens",
  async () => {
    const { code, err } = await runCli(folder.path, ["dev", "--port", "0", "--page", "page"]);
    expect(code).toBe(1);
    expect(err).toMatch(
      /Process \d+ uses the folder \.turnstream\. Stop it, or choose another folder with `dataFolder` or --data\.$/m,
    );
    expect(await cli.stop("SIGINT")).toBe(0);
    expect(existsSync(join(folder.path, ".turnstream/pid"))).toBe(false);
    expect(readFileSync(join(folder.path, ".turnstream/.gitignore"), "utf8")).toBe("*\n");
    // The file of a process that was killed.
    writeFileSync(join(folder.path, ".turnstream/pid"), "999999999\n");
    await start();
  },
  TIMEOUT_MS,
);
