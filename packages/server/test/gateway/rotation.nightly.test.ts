/**
 * Replaces the secrets of two gateways and the API keys of two tenants while clients work, on PostgreSQL and Redis, as
 * docs/gateway.md describes it. No legitimate request is refused, and links to shared sessions work throughout.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createServer, type Server } from "../../src/gateway/create-server.ts";
import { script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import { openRealBackend } from "../engine/real-backend.ts";
import { type HarnessBackend, TurnHarness } from "../engine/turn-harness.ts";
import { StreamClient } from "./clients.ts";
import { readResponse, type TestResponse } from "./test-server.ts";

const newSecret = () => randomBytes(32).toString("hex");
const SESSION = "ticket-1234";
const TIMEOUT_MS = 240_000;

/** Two gateways behind one address list. A client that finds one restarting asks the other. */
class Gateways {
  readonly #parts: HarnessBackend;
  readonly #servers: Server[] = [];
  readonly urls: string[] = [];

  constructor(parts: HarnessBackend) {
    this.#parts = parts;
  }

  /** Starts both, or restarts one after the other on the same port. */
  async start(secrets: [string, ...string[]]): Promise<void> {
    const { store, log, signals } = this.#parts;
    for (const n of [0, 1]) {
      const port = Number(new URL(this.urls[n] ?? "http://127.0.0.1:0").port);
      await this.#servers[n]?.close();
      const server = createServer({ store, log, signals, secrets, onError: () => undefined });
      this.urls[n] = await server.listen(port);
      this.#servers[n] = server;
    }
  }

  async close(): Promise<void> {
    for (const server of this.#servers) await server.close();
  }
}

/** A client of one tenant. It works in rounds, each with a new token and with the key that is valid at its start. */
class LoadClient {
  readonly refusals: string[] = [];
  readonly done = { rounds: 0, retries: 0, resumed: 0 };
  key: string;
  /** A link that was created before the first secret was replaced. */
  link = "";
  readonly #gateways: Gateways;
  #calls = 0;
  #isOver = false;

  constructor(gateways: Gateways, key: string) {
    this.#gateways = gateways;
    this.key = key;
  }

  get #asServer(): Record<string, string> {
    return { "x-api-key": this.key, "x-user-id": "an" };
  }

  async begin(): Promise<void> {
    await this.#ask("POST", "/sessions", this.#asServer, { session_id: SESSION });
    await this.#round();
    const share = await this.#ask("POST", `/sessions/${SESSION}/shares`, this.#asServer, {});
    this.link = share.json.token;
  }

  async work(): Promise<void> {
    while (!this.#isOver) await this.#round();
  }

  end(): void {
    this.#isOver = true;
  }

  /** Waits until nothing is in use that was issued before. */
  async passRound(): Promise<void> {
    const { rounds } = this.done;
    while (this.done.rounds < rounds + 2) await sleep(10);
  }

  async openLink(): Promise<void> {
    const { text } = await this.#ask("GET", `/shares/${this.link}`, {});
    if (!text.includes("echo of")) this.refusals.push(`the link shows ${text.slice(0, 100)}`);
  }

  async #round(): Promise<void> {
    const { json } = await this.#ask("POST", "/tokens", this.#asServer, { user_id: "an" });
    const auth = { authorization: `Bearer ${json.token}` };
    const text = randomUUID();
    const sent = { ...auth, "idempotency-key": text };
    await Promise.all([
      this.#follow(auth, text),
      this.#ask("POST", `/sessions/${SESSION}/messages`, sent, { text, stream: false }),
      this.#transfer(auth, text),
      this.link === "" ? null : this.openLink(),
    ]);
    this.done.rounds++;
  }

  async #transfer(auth: Record<string, string>, text: string): Promise<void> {
    const headers = { ...auth, "idempotency-key": text };
    const file = await this.#ask("POST", `/sessions/${SESSION}/files?name=a.txt`, headers, text);
    await this.#ask("GET", `/sessions/${SESSION}/files/${file.json?.id}`, auth);
  }

  /** Reads the session's stream until it has the answer to `text`. Resumes on the other gateway when it is cut off. */
  async #follow(auth: Record<string, string>, text: string): Promise<void> {
    let cursor: string | undefined;
    for (let shown = ""; !shown.includes(`echo of ${text}`);) {
      const { json } = await this.#ask("POST", "/tickets", auth, {});
      const from = cursor === undefined ? "" : `&last_event_id=${cursor}`;
      const url = `${this.#next()}/api/v1/sessions/${SESSION}/events?dialect=native&ticket=${json?.ticket}${from}`;
      const stream = await StreamClient.open(url).catch(() => null);
      if (stream === null) continue;
      if (stream.response.status >= 400 && stream.response.status < 500)
        this.refusals.push(`events: ${stream.response.status}`);
      while (!stream.isOver && !stream.text.includes(`echo of ${text}`)) await sleep(5);
      shown += stream.text;
      cursor = stream.messages.findLast(({ id }) => id !== undefined)?.id ?? cursor;
      if (stream.isOver) this.done.resumed++;
      stream.disconnect();
    }
  }

  /** Repeats a request that a restart cut off. Records a refusal. */
  async #ask(
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: unknown,
  ): Promise<TestResponse> {
    const isText = typeof body === "string";
    const type = { "content-type": isText ? "text/plain" : "application/json" };
    for (let tries = 0; ; tries++) {
      const response = await fetch(`${this.#next()}/api/v1${path}`, {
        method,
        headers: body === undefined ? headers : { ...type, ...headers },
        ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
      })
        .then(readResponse)
        .catch(() => null);
      if (response !== null && response.status < 500) {
        if (response.status >= 400)
          this.refusals.push(`${method} ${path.slice(0, 40)}: ${response.status} ${response.text}`);
        return response;
      }
      if (tries > 1_000) throw new Error(`no answer to ${method} ${path}: ${response?.text}`);
      this.done.retries++;
      await sleep(10);
    }
  }

  #next(): string {
    return this.#gateways.urls[this.#calls++ % 2] ?? "";
  }
}

test(
  "R01 secrets and keys are replaced under load: no request is refused, and links keep working",
  async () => {
    const stage = await TurnHarness.open(await openRealBackend());
    const { store } = stage.backend;
    const model = scriptedModel(({ text }) => [script.text(`echo of ${text}`)]);
    await stage.worker([defineAgent({ name: "echo", title: false, model })]);
    const gateways = new Gateways(stage.backend);
    const [old, next] = [newSecret(), newSecret()];
    await gateways.start([old]);
    const clients: LoadClient[] = [];
    const tenants = ["acme", "evil"];
    const createKey = async (tenant: string) => store.keys.create(tenant, { name: "key", scopes: [] });
    for (const tenant of tenants) {
      await store.tenants.create({ id: tenant, name: tenant });
      clients.push(new LoadClient(gateways, (await createKey(tenant)).secret));
    }
    await Promise.all(clients.map((client) => client.begin()));
    const work = Promise.all(clients.map((client) => client.work()));
    const passRound = () => Promise.all(clients.map((client) => client.passRound()));

    for (const secrets of [[old, next], [next, old], [next]] as [string, ...string[]][]) {
      await gateways.start(secrets);
      await passRound();
    }
    for (const [n, tenant] of tenants.entries()) {
      const [former] = await store.keys.list(tenant);
      (clients[n] as LoadClient).key = (await createKey(tenant)).secret;
      await passRound();
      expect(await store.keys.revoke(tenant, former?.id ?? "")).toBe(true);
    }
    await passRound();
    for (const client of clients) client.end();
    await work;

    for (const client of clients) {
      await client.openLink();
      expect(client.refusals).toEqual([]);
      expect(client.done.rounds).toBeGreaterThan(8);
    }
    // The restarts cut off requests or streams, so the test has shown something.
    expect(clients.reduce((sum, { done }) => sum + done.retries + done.resumed, 0)).toBeGreaterThan(0);
    await gateways.close();
    await stage.close();
  },
  TIMEOUT_MS,
);
