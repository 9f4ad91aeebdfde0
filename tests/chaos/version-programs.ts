/**
 * `VersionPrograms` runs a gateway, a worker and a reader of this version and of a raised one on the same servers, and a
 * client of each version on each gateway.
 */
import { join } from "node:path";
import type { SessionRef } from "@turnstream/server";
import type { GatewayProgram } from "@turnstream/testkit/gateway/gateway-program.ts";
import { ChildProgram } from "@turnstream/testkit/processes/child-program.ts";
import { until } from "@turnstream/testkit/util/until.ts";
import type { GatewayEnvironment } from "./gateway-environment.ts";
import type { ReaderMessage, ReadRequest, SessionReading } from "./processes/version-reader.ts";
import type { ClientMessage, ClientRequest } from "./processes/version-client.ts";
import type { WorkerProcess } from "./worker-process.ts";

const REPOSITORY = join(import.meta.dirname, "../..");

export type Version = "this" | "next";
const VERSIONS: readonly Version[] = ["this", "next"];

type Viewed = Extract<ClientMessage, { readonly reported: string }>;

export interface GatewayClient {
  readonly client: Version;
  /** The version of its gateway. */
  gateway: Version;
  readonly program: ChildProgram<ClientMessage, ClientRequest>;
}

export class VersionPrograms {
  readonly clients: GatewayClient[] = [];
  readonly #environment: GatewayEnvironment;
  readonly #roots: Readonly<Record<Version, string>>;
  readonly #gateways = new Map<Version, GatewayProgram>();
  readonly #workers = new Map<Version, WorkerProcess>();
  readonly #readers = new Map<Version, ChildProgram<ReaderMessage, ReadRequest>>();

  /** @param raised the folder of the copy with the raised version */
  constructor(environment: GatewayEnvironment, raised: string) {
    this.#environment = environment;
    this.#roots = { this: REPOSITORY, next: raised };
  }

  async start(): Promise<void> {
    const { databaseUrl, redisUrl } = this.#environment.turns.backend;
    for (const version of VERSIONS) {
      const root = this.#roots[version];
      this.#gateways.set(version, await this.#environment.launchGateway({}, root));
      const reader = {
        file: join(root, "tests/chaos/processes/version-reader.ts"),
        settings: { databaseUrl, redisUrl },
      };
      const program = await ChildProgram.start<ReaderMessage, ReadRequest>(reader);
      this.#readers.set(version, this.#environment.turns.own(program));
    }
    for (const client of VERSIONS) for (const gateway of VERSIONS) await this.#view(client, gateway);
  }

  async #view(client: Version, gateway: Version): Promise<void> {
    const file = join(this.#roots[client], "tests/chaos/processes/version-client.ts");
    const settings = this.#environment.endpoint(this.#gateway(gateway));
    const name = `client of ${client} version on the gateway of ${gateway} version`;
    const program = await ChildProgram.start<ClientMessage, ClientRequest>({ file, settings, name });
    this.clients.push({ client, gateway, program: this.#environment.turns.own(program) });
  }

  #gateway(version: Version): GatewayProgram {
    const gateway = this.#gateways.get(version);
    if (gateway === undefined) throw new Error(`the gateway of ${version} version has not started`);
    return gateway;
  }

  /** Starts the missing workers: one of each version. */
  async keepWorkers(versions = VERSIONS): Promise<void> {
    for (const version of versions) {
      const worker = this.#workers.get(version);
      if (worker !== undefined && !worker.hasExited && !worker.hasLostLease) continue;
      this.#workers.set(version, this.#environment.turns.launchWorker({}, this.#roots[version]));
    }
    await Promise.all(
      versions.flatMap((version) => this.#workers.get(version) ?? []).map((worker) => worker.ready()),
    );
  }

  /** Replaces the worker of a version by one that has loaded everything and waits. @returns a function that starts it */
  async prepareWorker(version: Version): Promise<() => Promise<void>> {
    await this.killWorker(version);
    const worker = this.#environment.turns.launchWorker({ isPaused: true }, this.#roots[version]);
    this.#workers.set(version, worker);
    await worker.loaded();
    return () => worker.begin();
  }

  /** Kills the worker of a version with -9. @returns its name */
  async killWorker(version: Version): Promise<string | null> {
    const worker = this.#workers.get(version);
    if (worker === undefined || worker.hasExited) return null;
    await worker.kill();
    return worker.name;
  }

  follow({ session }: SessionRef): void {
    for (const { program } of this.clients) program.send({ follow: session });
  }

  read(version: Version, ref: SessionRef, archives = false): Promise<SessionReading> {
    const reader = this.#readers.get(version);
    if (reader === undefined) throw new Error(`the reader of ${version} version has not started`);
    return reader.request({ ref, archives }, "folded", ({ session }) => session === ref.session);
  }

  view({ program }: GatewayClient, { session }: SessionRef, cursor: string): Promise<Viewed> {
    return program.request({ report: session, cursor }, "reported", ({ reported }) => reported === session);
  }

  /** Replaces the gateway of this version by one of the next, on the same port. */
  async upgradeGateway(): Promise<void> {
    const next = await this.#environment.replaceGateway(this.#gateway("this"), this.#roots.next);
    this.#gateways.set("this", next);
    for (const client of this.clients) client.gateway = "next";
    await until("the gateway to answer", async () => (await fetch(`${next.url}/healthz`)).ok);
  }
}
