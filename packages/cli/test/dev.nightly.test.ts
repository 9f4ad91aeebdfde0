/** Tests `turnstream dev` in a process of its own that the tests share, as a developer uses it. */
import { mkdirSync } from "node:fs";
import { get } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AgentFolder, agentSource, ApiUser, CliProcess, runCli } from "./cli-process.ts";
import { ran } from "./ran.ts";

const ANSWERS =
  'export const answer = (text: string) => `First: ${text} ${process.env["GREETING"] ?? ""}`;\n';
const AGENT = agentSource("answer(text)", { head: 'import { answer } from "./answers.ts";' });

let folder: AgentFolder;
let cli: CliProcess;
let url: string;
let user: ApiUser;
let session: string;

beforeAll(async () => {
  folder = await AgentFolder.create({ "agent.ts": AGENT, "answers.ts": ANSWERS });
  mkdirSync(`${folder.path}/page/assets`, { recursive: true });
  folder.write({
    "page/index.html": "<h1>A page</h1>",
    "page/assets/main-1.js": "1",
    "page/assets/main-1.css": "p {}",
    ".env": "GREETING=\n",
  });
  cli = new CliProcess(folder.path, ["dev", "--json", "--port", "0", "--page", `${folder.path}/page`]);
  url = String((await cli.ready())["url"]);
  user = await ApiUser.signIn(url);
  session = await user.createSession();
});

afterAll(() => {
  cli?.kill();
  folder?.remove();
});

/** Waits until a line is printed after the change. */
async function change(files: Readonly<Record<string, string>>, line: RegExp): Promise<void> {
  const before = cli.err.length;
  folder.write(files);
  await expect.poll(() => cli.err.slice(before), { interval: 10 }).toMatch(line);
}

test("answers, and prints on stderr where the data is, the address, and a line per turn", async () => {
  expect(await user.ask(session, "one")).toBe("First: one ");
  expect(cli.out).toBe(`${JSON.stringify({ url }, null, 2)}\n`);
  expect(cli.err).toContain("The data is in .turnstream.");
  expect(cli.err).toContain(`Turnstream listens on ${url}\n`);
  expect(cli.err).toContain("Open it to talk to helper. Changes of agent.ts are live. Ctrl-C ends it.\n");
  await expect.poll(() => cli.err).toMatch(/^\d\d:\d\d:\d\d helper answered, 1 model call, .* "one"$/m);
  expect(cli.err).not.toContain("\u001b");
});

test("serves the page with its types and a strict policy, and nothing else", async () => {
  const files = ["/", "/assets/main-1.js", "/assets/main-1.css"];
  const types = ["text/html", "text/javascript", "text/css"];
  for (const [n, path] of files.entries()) {
    const { status, headers } = await fetch(`${url}${path}`);
    expect([status, headers.get("content-type")]).toEqual([200, `${types[n]}; charset=utf-8`]);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    const policy = headers.get("content-security-policy");
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
    expect(policy).not.toContain("unsafe");
  }
  for (const path of ["/agent.ts", "/page/index.html", "/..%2fagent.ts", "/.env"])
    expect((await fetch(`${url}${path}`)).status).toBe(404);
});

test("signs in only requests to this machine, because another name can belong to a foreign page", async () => {
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const { port } = new URL(url);
    const headers = { host: `evil.example:${port}` };
    get(`${url}/api/v1/sign-in`, { method: "POST", headers }, ({ statusCode }) => resolve(statusCode)).on(
      "error",
      reject,
    );
  });
  expect(status).toBe(401);
});

test("a changed file, and a changed file that it imports, are live while the session stays", async () => {
  await change({ "answers.ts": ANSWERS.replace("First", "Second") }, / answers\.ts changed: the next turn/);
  expect(await user.ask(session, "two")).toBe("Second: two ");
  await change(
    { "agent.ts": AGENT.replace("answer(text)", "answer(text).toUpperCase()") },
    / agent\.ts changed/,
  );
  expect(await user.ask(session, "three")).toBe("SECOND: THREE ");
  await change({ ".env": "GREETING=hello\n" }, / \.env changed/);
  expect(await user.ask(session, "four")).toBe("SECOND: FOUR HELLO");
});

test.each([
  ["a syntax error", { "answers.ts": "export const answer = 1;\nexport const ;\n" }, /answers\.ts:2: /],
  [
    "an error at the start",
    { "agent.ts": '\nthrow new Error("no agent");\n' },
    / agent\.ts:2: no agent\. The ear/,
  ],
  ["a missing file", { "agent.ts": AGENT.replace("./answers.ts", "./missing.ts") }, /agent\.ts.*missing\.ts/],
  [
    "another export",
    { "agent.ts": "export default 1;\n" },
    / agent\.ts: the default export must be an agent/,
  ],
])("%s is reported with its file, and the earlier agent stays", async (_, files, line) => {
  await change(files, line);
  expect(cli.err).toContain("The earlier agents stay until this is corrected.");
  expect(await user.ask(session, "still")).toBe("SECOND: STILL HELLO");
});

test("a file that was missing is live once it exists", async () => {
  folder.write({ "answers.ts": ANSWERS });
  await change({ "agent.ts": AGENT.replace("./answers.ts", "./missing.ts") }, /agent\.ts.*missing\.ts/);
  await change({ "missing.ts": ANSWERS.replace("First", "Third") }, / missing\.ts changed/);
  expect(await user.ask(session, "five")).toBe("Third: five hello");
});

test("without a key, the answer and the terminal name the variable", async () => {
  const source = `import { anthropic } from "@ai-sdk/anthropic";
import { defineAgent } from "@turnstream/server";
export default [defineAgent({ name: "claude", title: false, model: anthropic("claude-sonnet-4-6") })];
`;
  await change({ "agent.ts": source }, / agent\.ts changed/);
  expect(await user.ask(session, "six")).toContain("Set ANTHROPIC_API_KEY");
  expect(cli.err).toContain("ANTHROPIC_API_KEY is not set: answers are scripted until it is.\n");
});

test("a port that another program uses is named", async () => {
  const { port } = new URL(url);
  const options = ["--port", port, "--data", ".other", "--page", `${folder.path}/page`];
  const { code, err } = await runCli(folder.path, ["dev", ...options]);
  expect(code).toBe(1);
  expect(err).toContain(
    `turnstream: Port ${port} is already in use. Stop the program that uses it, or choose another port with PORT or --port.\n`,
  );
});

test("Ctrl-C ends it in order", async () => {
  expect(await cli.stop("SIGINT")).toBe(0);
  const [, after = "none"] = cli.err.split("Turnstream ends. ");
  expect(after).toBe("Press Ctrl-C again to end it at once.\n");
});

/** An agent without imports, so that the commands can load it in this process. */
const BARE = '{ name: "bare", limits: {}, schemas: {} }';

test.each([
  [["dev"], "turnstream: There is no agent.ts, agent.js, src/agent.ts, src/agent.js. Create one, or "],
  [["dev", "none.ts"], "turnstream: There is no file none.ts.\n"],
  [["dev", "--port", "x"], "turnstream: --port must be a number from 0 to 65535, got x.\n"],
  [["dev", "--page", "/nowhere", "one.js"], "turnstream: There is no page in /nowhere."],
  [["serve", "wrong.js"], "turnstream: wrong.js: the default export must be an agent, a list of agents, or "],
  [["serve", "raw.js"], "turnstream: raw.js: agent 2 must be made with defineAgent or defineStreamAgent.\n"],
  [["serve", "empty.js"], "turnstream: empty.js: the list of agents is empty.\n"],
  [
    ["serve", "one.js"],
    "turnstream: one.js must export `user`, which returns the id of the signed-in user: ",
  ],
  [["serve", "app.js"], "turnstream: DATABASE_URL is not set."],
  [["worker", "one.js", "--database-url", "postgres://a@b/c"], "turnstream: REDIS_URL is not set."],
])("`turnstream %s` names what to change", async (args, message) => {
  const project = await AgentFolder.create({
    "wrong.js": "export const agent = 1;\n",
    "raw.js": `export default [${BARE}, { name: "raw" }];\n`,
    "empty.js": "export default { agents: [] };\n",
    "one.js": `export default ${BARE};\n`,
    "app.js": `export default { agents: [${BARE}], user: () => null };\n`,
  });
  const { code, out, err } = await ran(args, {}, { folder: project.path });
  project.remove();
  expect(err.startsWith(message)).toBe(true);
  expect([code === 0, out]).toEqual([false, ""]);
});
