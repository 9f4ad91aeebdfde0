/** Tests `turnstream serve`, `worker` and `dev` on PostgreSQL and Redis, in processes of their own. */
import { freshDatabaseUrl, sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { AgentFolder, agentSource, ApiUser, CliProcess } from "./cli-process.ts";

const DEV = ["dev", "--port", "0", "--page"];

let folder: AgentFolder;
let env: Record<string, string>;

beforeAll(async () => {
  const source = agentSource("`I read ${text}`").replace("export default agent;", "");
  folder = await AgentFolder.create({
    "agent.ts": `${source}\nexport default { agents: [agent], user: () => "an" };\n`,
    "index.html": "<h1>A page</h1>",
  });
  env = {
    DATABASE_URL: await freshDatabaseUrl(),
    REDIS_URL: sharedRedisUrl(),
    TURNSTREAM_SECRET: "s".repeat(32),
  };
});

afterAll(() => folder?.remove());

function start(...args: string[]): CliProcess {
  const cli = new CliProcess(folder.path, [...args, "--json"], env);
  onTestFinished(() => cli.kill());
  return cli;
}

test("a gateway and a worker in two processes answer, and end in order at SIGTERM", async () => {
  const serve = start("serve", "--no-worker", "--port", "0");
  const user = await ApiUser.signIn(String((await serve.ready())["url"]));
  const session = await user.createSession();
  const answer = user.ask(session, "a book");
  const worker = start("worker");
  expect(await worker.ready()).toEqual({ agents: ["helper"] });
  expect(await answer).toBe("I read a book");
  await expect.poll(() => worker.err).toMatch(/ helper answered, .* "a book"\n/);
  expect(worker.err).toContain("The worker runs turns of helper. Ctrl-C ends it.\n");
  expect(await Promise.all([serve.stop("SIGTERM"), worker.stop("SIGTERM")])).toEqual([0, 0]);
  // The gateway reports a message that waits for more than five seconds. On a slow machine the worker starts later.
  const printed = `${serve.err}${worker.err}`.replace(/.* No worker is running.*\n/, "");
  expect(printed).not.toMatch(/error/i);
});

test("`dev` uses the servers of the environment, so sessions outlive it", async () => {
  const first = start(...DEV, folder.path);
  const before = await ApiUser.signIn(String((await first.ready())["url"]));
  const session = await before.createSession();
  expect(await before.ask(session, "one")).toBe("I read one");
  expect(first.err).not.toContain("in memory");
  expect(await first.stop("SIGINT")).toBe(0);
  const second = start(...DEV, folder.path);
  const after = await ApiUser.signIn(String((await second.ready())["url"]));
  expect(await after.ask(session, "two")).toBe("I read two");
  expect(await second.stop("SIGINT")).toBe(0);
});
