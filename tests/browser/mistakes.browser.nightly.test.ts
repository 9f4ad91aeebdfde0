/**
 * Tests the mistakes that developers make in their first hour, each where the developer meets it: in the terminal of a
 * real process, in a response, or in a page. Each output names the thing to change, in at most three lines.
 */
import { createServer } from "node:net";
import { join } from "node:path";
import { signToken } from "@turnstream/server";
import { startAnthropicServer } from "@turnstream/testkit/model-servers/anthropic-server.ts";
import type { ModelServer } from "@turnstream/testkit/model-servers/model-server.ts";
import { freePort } from "@turnstream/testkit/network/free-port.ts";
import { freshDatabaseUrl, sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { en } from "@turnstream/react";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { keepArtefacts } from "./artefacts.ts";
import { closeBrowser, openBrowser } from "./chromium.ts";
import { type Environment, MistakenProgram } from "./mistaken-program.ts";
import { pageUrl } from "./pages.ts";

const APP = join(import.meta.dirname, "processes/mistaken-app.ts");
const CLI = join(import.meta.dirname, "../../packages/cli/src/main.ts");
const SECRET = "a secret that is long enough for tests";
const KEY = "sk-ant-api03-canary-1234567890";
const MAX_LINES = 3;

const PROVIDER_MESSAGES: Readonly<Record<number, string>> = {
  401: `invalid x-api-key: ${KEY}`,
  404: "model: model-404 was not found",
  400: "tools.0: the schema of buy is invalid",
  429: "This would exceed the rate limit of your organization",
  500: "Internal server error of the provider",
};

/** The app with its mistakes, one without a worker, and one in production. */
let app: MistakenProgram;
let models: ModelServer;
let browser: Browser;

beforeAll(async () => {
  models = await startAnthropicServer(({ body }) => {
    const status = Number(/\d+$/.exec(String(body["model"]))?.[0]);
    return { status, error: { type: "error", message: PROVIDER_MESSAGES[status] ?? "" } };
  });
  app = startApp({});
  browser = await openBrowser();
  await app.url();
}, 120_000);

afterAll(async () => {
  await app?.end();
  await closeBrowser(browser);
  await models?.close();
});

function startApp(env: Environment): MistakenProgram {
  const given = { TURNSTREAM_SECRET: SECRET, MODEL_URL: models.baseUrl, MODEL_KEY: KEY };
  return new MistakenProgram([APP], { ...given, PAGE_URL: pageUrl("live"), ...env });
}

/** Starts a server that fails at its start. */
async function start(env: Environment, flags: readonly string[] = []): Promise<readonly string[]> {
  return await new MistakenProgram([...flags, APP], env).failed();
}

/** The settings of a server whose database has no tables yet. */
async function servers(): Promise<Environment> {
  const DATABASE_URL = await freshDatabaseUrl();
  return { DATABASE_URL, REDIS_URL: sharedRedisUrl(), TURNSTREAM_SECRET: SECRET };
}

async function command(args: readonly string[], env: Environment): Promise<readonly string[]> {
  return await new MistakenProgram([CLI, ...args], env).failed();
}

interface Claims {
  readonly tenant?: string;
  readonly secret?: string;
}

async function call(path: string, body: object, { tenant = "default", secret = SECRET }: Claims = {}) {
  const now = Date.now();
  const claims = { tenant, user: "an", key: null, scopes: ["read", "write"], expiresAt: now + 60_000 };
  const response = await fetch(`${await app.url()}/api/v1${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "idempotency-key": crypto.randomUUID(),
      authorization: `Bearer ${await signToken(claims, secret, now)}`,
    },
    body: JSON.stringify(body),
  });
  return (await response.json()) as Readonly<Record<string, string>>;
}

/** Sends a message to an agent. */
async function send(agent: string) {
  const { session_id } = await call("/sessions", {});
  return await call(`/sessions/${session_id}/messages`, { text: "Hi", agent_id: agent, stream: false });
}

/** Sends a message, and returns what the terminal shows until a line has all texts. */
async function terminal(agent: string, texts: readonly string[]): Promise<readonly string[]> {
  const from = app.lines.length;
  await send(agent);
  await app.printed(from, texts);
  // The line of the turn follows.
  return await app.printed(from, [`${agent} `]);
}

interface Mistake {
  /** Returns the lines that the developer sees. */
  readonly show: () => Promise<readonly string[]>;
  /** One line contains all of these. */
  readonly names: readonly string[];
}

const closed = await freePort();
const MISTAKES: Readonly<Record<string, Mistake>> = {
  "DATABASE_URL is not set": {
    show: async () => start({ ...(await servers()), DATABASE_URL: undefined }),
    names: ["DATABASE_URL is not set", "postgres://user@host/name"],
  },
  "the port of PostgreSQL is wrong": {
    show: async () => start({ ...(await servers()), DATABASE_URL: `postgres://an@127.0.0.1:${closed}/chat` }),
    names: [`127.0.0.1:${closed}`, "Start PostgreSQL there", "DATABASE_URL"],
  },
  "the port of PostgreSQL is wrong, in a command": {
    show: () => command(["migrate"], { DATABASE_URL: `postgres://an@127.0.0.1:${closed}/chat` }),
    names: [`127.0.0.1:${closed}`, "Start PostgreSQL there", "DATABASE_URL"],
  },
  "the name of the database is wrong": {
    async show() {
      const url = Object.assign(new URL(await freshDatabaseUrl()), { pathname: "/nowhere" });
      return await start({ ...(await servers()), DATABASE_URL: url.href });
    },
    names: ["There is no database nowhere", "DATABASE_URL"],
  },
  "Redis is down": {
    show: async () => start({ ...(await servers()), REDIS_URL: `redis://127.0.0.1:${closed}` }),
    names: [`127.0.0.1:${closed}`, "REDIS_URL"],
  },
  "REDIS_URL is not set": {
    show: async () => start({ ...(await servers()), REDIS_URL: undefined }),
    names: ["REDIS_URL is not set", "redis://host:6379"],
  },
  "the tables are missing": {
    show: async () => start({ ...(await servers()), NODE_ENV: "production" }),
    names: ["turnstream migrate", "DATABASE_URL"],
  },
  "the secret is too short": {
    show: async () => start({ ...(await servers()), TURNSTREAM_SECRET: "short" }),
    names: ["TURNSTREAM_SECRET has 5 bytes", "32", "openssl rand"],
  },
  "a token of another secret": {
    show: async () => [(await call("/sessions", {}, { secret: "x".repeat(32) }))["message"] ?? ""],
    names: ["signature of the token", "TURNSTREAM_SECRET"],
  },
  "the tenant is missing": {
    async show() {
      const from = app.lines.length;
      const { message = "" } = await call("/sessions", {}, { tenant: "acme" });
      await call("/sessions", {}, { tenant: "acme" });
      return [message, ...(await app.printed(from, ["acme"]))];
    },
    names: ['There is no tenant "acme"', "keys create --new-tenant"],
  },
  "the name of the agent is wrong": {
    show: async () => [(await send("marketx"))["message"] ?? ""],
    names: ['"marketx"', "keyless, long-answer, market"],
  },
  "a tool throws": {
    show: () => terminal("market", ["the tool buy", "The market is closed."]),
    names: ["the tool buy", "The market is closed."],
  },
  "the model's key is refused": {
    show: () => terminal("long-answer", ["401"]),
    names: ["HTTP 401", "API key", "invalid x-api-key"],
  },
  "the model doesn't exist": {
    show: () => terminal("status-404", ["404"]),
    names: ["HTTP 404", "model: model-404 was not found"],
  },
  "the model refuses the request": {
    show: () => terminal("status-400", ["400"]),
    names: ["HTTP 400", "the schema of buy is invalid"],
  },
  "the model is busy": {
    show: () => terminal("status-429", ["429"]),
    names: ["HTTP 429", "exceed the rate limit of your organization"],
  },
  "the provider fails": {
    show: () => terminal("status-500", ["500"]),
    names: ["HTTP 500", "Internal server error of the provider"],
  },
  "the model's key is missing": {
    show: () => terminal("keyless", ["API key"]),
    names: ["ANTHROPIC_API_KEY"],
  },
  "the port is in use": {
    async show() {
      const other = createServer().listen(0, "127.0.0.1");
      onTestFinished(() => void other.close());
      await new Promise((resolve) => other.once("listening", resolve));
      const { port } = other.address() as { port: number };
      const lines = await start({ PORT: String(port) });
      expect(lines.join("\n")).toContain(String(port));
      return lines.filter((line) => !line.startsWith("The data is in "));
    },
    names: ["is already in use", "PORT"],
  },
  "Node is too old": {
    show: () => start({}, ["--import", OLD_NODE]),
    names: ["Node 22.19 or later", "Node 20.20.2"],
  },
  "the origin of a page is not allowed": {
    async show() {
      const from = app.lines.length;
      const page = await openPage(`${pageUrl("live")}/chat.html`);
      expect(await page.evaluate(signInFromPage, await app.url())).toBe("hidden");
      expect(await page.evaluate(signInFromPage, await app.url())).toBe("hidden");
      return await app.printed(from, ["allowedOrigins"]);
    },
    // The port differs in each run.
    names: ['Pages of the origin "http://127.0.0.1:', "allowedOrigins"],
  },
};

/** Makes this Node look like an old one. The versions of a process can't be changed, but replaced. */
const OLD_NODE = `data:text/javascript,${encodeURIComponent(
  `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.20.2" } });`,
)}`;

/** Runs in the page. */
function signInFromPage(url: string): Promise<string> {
  return fetch(`${url}/api/v1/sign-in`, { method: "POST" }).then(
    () => "read",
    () => "hidden",
  );
}

async function openPage(url: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 900, height: 700 } });
  keepArtefacts(context);
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(url);
  return page;
}

/** Opens the page of an app and sends a message. */
async function chat(program: MistakenProgram): Promise<Page> {
  const page = await openPage(await program.url());
  await sendFirst(page);
  return page;
}

/** Returns the time directly before the message is sent. */
async function sendFirst(page: Page): Promise<number> {
  const composer = page.getByRole("textbox", { name: en.thread.message });
  await composer.fill("Hi");
  const sentAt = performance.now();
  await composer.press("Enter");
  return sentAt;
}

describe("each mistake names the thing to change, in at most three lines", () => {
  test.each(Object.entries(MISTAKES))("%s", async (_, { show, names }) => {
    const lines = await show();
    const text = lines.join("\n");
    expect(lines.length, text).toBeLessThanOrEqual(MAX_LINES);
    for (const name of names) expect(text).toContain(name);
    expect(text).not.toContain("canary");
    expect(text).not.toMatch(/^\s+at /m);
  });
});

describe("in the page", () => {
  test("the message of the model's provider is shown, without the key", async () => {
    const page = await chat(app);
    const notice = page.locator(".ts-error");
    await notice.getByText("invalid x-api-key").waitFor();
    expect(await notice.textContent()).toContain("HTTP 401");
    expect(await page.content()).not.toContain("canary");
  });

  test("in production, the page has nothing of the provider's message", async () => {
    const production = startApp({ NODE_ENV: "production" });
    onTestFinished(() => production.end());
    const page = await chat(production);
    await page.locator(".ts-error").getByText(en.thread.notRetryable).waitFor();
    expect(await page.content()).not.toMatch(/x-api-key|canary|HTTP/);
    await page.reload();
    await page.locator(".ts-error").waitFor();
    expect(await page.content()).not.toMatch(/x-api-key|canary|HTTP/);
    expect(production.lines.join("\n")).toContain("invalid x-api-key");
    expect(production.lines.join("\n")).not.toContain("canary");
  });

  test("a worker that was not started is reported after 5 s, and once in the log", async () => {
    const program = startApp({ RUNS_TURNS: "false" });
    onTestFinished(() => program.end());
    const page = await openPage(await program.url());
    const sentAt = await sendFirst(page);
    const banner = page.getByText(en.thread.noWorker);
    await banner.waitFor();
    expect(performance.now() - sentAt).toBeGreaterThan(5_000);
    await page.getByRole("textbox", { name: en.thread.message }).fill("And then?");
    await page.keyboard.press("Enter");
    // The event of the second message ends the notice, and the next check of the gateway repeats it.
    await expect.poll(() => page.getByRole("button", { name: en.thread.cancel }).count()).toBe(2);
    await banner.waitFor();
    const reports = program.lines.filter((line) => line.includes("No worker is running"));
    expect(reports).toEqual([expect.stringContaining("app.worker()")]);
  });
});
