/** `LiveGateway` runs a gateway and a worker in memory, behind a proxy that can cut connections, and opens clients. */
import { afterEach } from "vitest";
import { startProxy, type TcpProxy } from "@turnstream/testkit/network/tcp-proxy.ts";
import { signToken } from "../../../server/src/gateway/auth/tokens.ts";
import { script } from "../../../server/src/models/script-parts.ts";
import { scriptedModel } from "../../../server/src/models/scripted-model.ts";
import { defineAgent } from "../../../server/src/agent/define/agent.ts";
import { tool } from "../../../server/src/agent/define/tool.ts";
import type { Worker } from "../../../server/src/worker/worker.ts";
import {
  createMemoryBackend,
  openServer,
  type TestServer,
} from "../../../server/test/gateway/test-server.ts";
import { TurnHarness } from "../../../server/test/engine/turn-harness.ts";
import { createClient } from "../../src/client.ts";
import type { Client } from "../../src/client-interface.ts";
import type { ClientOptions } from "../../src/options.ts";
import type { Session, SessionView } from "../../src/session/session.ts";

const TIMEOUT_MS = 60_000;

export const agent = defineAgent({
  name: "a",
  title: false,
  model: scriptedModel(({ text, step }) => {
    if (text === "slow") return [script.text("be"), script.delay(60_000), script.text("gin")];
    if (text === "long")
      return [script.reasoning("Let me see."), script.text("word ".repeat(400), { chunk: 4, paceMs: 2 })];
    if (text === "book" && step === 0) return [script.toolCall("book", { beds: 2 })];
    return [script.text(`You wrote ${text}.`)];
  }),
  tools: { book: tool({ approval: true, run: () => "booked" }) },
});

export class LiveGateway {
  readonly stage: TurnHarness;
  readonly worker: Worker;
  readonly server: TestServer;
  readonly proxy: TcpProxy;
  readonly #clients: Client[] = [];
  readonly #proxies: TcpProxy[] = [];

  private constructor(stage: TurnHarness, worker: Worker, server: TestServer, proxy: TcpProxy) {
    this.stage = stage;
    this.worker = worker;
    this.server = server;
    this.proxy = proxy;
  }

  static async open(options: Parameters<typeof openServer>[1] = {}): Promise<LiveGateway> {
    const stage = await TurnHarness.open(createMemoryBackend());
    // The long lease prevents a takeover when the test machine is slow.
    const worker = await stage.worker([agent], { leaseTtlMs: 20_000 });
    const server = await openServer(stage.backend, { actor: stage.actor, ...options });
    const gateway = new LiveGateway(stage, worker, server, await openProxy(server));
    open.push(gateway);
    return gateway;
  }

  get url(): string {
    return `http://${this.proxy.host}:${this.proxy.port}`;
  }

  /** Opens a second proxy to the same gateway, which counts its own bytes. */
  async openProxy(): Promise<TcpProxy> {
    const proxy = await openProxy(this.server);
    this.#proxies.push(proxy);
    return proxy;
  }

  client(options: Partial<ClientOptions> = {}): Client {
    const { auth: headers } = this.server;
    const client = createClient({ url: this.url, auth: () => ({ headers }), ...options });
    this.#clients.push(client);
    return client;
  }

  /** Returns a token signed by the server, for any user of the tenant. */
  token({ user = this.stage.actor.user, ms = 600_000 } = {}): Promise<string> {
    const { key, secrets } = this.server;
    const { tenant } = this.stage.actor;
    const scopes = ["read", "write", "decide"] as const;
    const now = Date.now();
    return signToken({ tenant, user, key: key.id, scopes, expiresAt: now + ms }, secrets[0], now);
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.close();
    await this.server.close();
    await this.stage.close();
    for (const proxy of [this.proxy, ...this.#proxies]) await proxy.close();
  }
}

function openProxy(server: TestServer): Promise<TcpProxy> {
  const { hostname: host, port } = new URL(server.url);
  return startProxy({ to: { host, port: Number(port) } });
}

const open: LiveGateway[] = [];

afterEach(async () => {
  for (const gateway of open.splice(0)) await gateway.close();
});

/** Subscribes to the session until `isSo` returns true for its view, and returns that view. Rejects after a timeout. */
export function until(
  session: Session,
  about: string,
  isSo: (view: SessionView) => boolean,
): Promise<SessionView> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      const view = session.getSnapshot();
      if (!isSo(view)) return;
      clearTimeout(timer);
      leave();
      resolve(view);
    };
    const leave = session.subscribe(look);
    const timer = setTimeout(() => {
      leave();
      const { connection, outbox, state } = session.getSnapshot();
      const seen = JSON.stringify({ connection, outbox, seq: state.seq, turns: state.turns.length });
      reject(new Error(`not ${about} within ${TIMEOUT_MS} ms: ${seen}`));
    }, TIMEOUT_MS);
    look();
  });
}

export const isLive = ({ connection }: SessionView): boolean => connection.phase === "live";

export function isOver(text: string): (view: SessionView) => boolean {
  return ({ state }) => {
    const turn = state.turns.findLast(({ message }) => message?.text === text);
    return turn !== undefined && turn.status !== "running";
  };
}
