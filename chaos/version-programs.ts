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
import type { ViewerMessage, ViewerRequest } from "./processes/version-viewer.ts";
import type { WorkerProcess } from "./worker-process.ts";

const REPOSITORY = join(import.meta.dirname, "..");

export type Version = "this" | "next";
const VERSIONS: readonly Version[] = ["this", "next"];

type Viewed = Extract<ViewerMessage, { readonly reported: string }>;

export interface Viewer {
  readonly client: Version;
  /** The version of its gateway. */
  gateway: Version;
  readonly program: ChildProgram<ViewerMessage, ViewerRequest>;
}

export class VersionPrograms {
  readonly viewers: Viewer[] = [];
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
      this.#gateways.set(version, await this.#environment.launchGateway(root));
      const reader = {
        file: join(root, "chaos/processes/version-reader.ts"),
        settings: { databaseUrl, redisUrl },
      };
      this.#readers.set(version, await ChildProgram.start<ReaderMessage, ReadRequest>(reader));
    }
    for (const client of VERSIONS) for (const gateway of VERSIONS) await this.#view(client, gateway);
    await this.keepWorkers();
  }

  async #view(client: Version, gateway: Version): Promise<void> {
    const file = join(this.#roots[client], "chaos/processes/version-viewer.ts");
    const settings = this.#environment.endpoint(this.#gateway(gateway));
    const name = `client of ${client} version on the gateway of ${gateway} version`;
    const program = await ChildProgram.start<ViewerMessage, ViewerRequest>({ file, settings, name });
    this.viewers.push({ client, gateway, program });
  }

  #gateway(version: Version): GatewayProgram {
    const gateway = this.#gateways.get(version);
    if (gateway === undefined) throw new Error(`the gateway of ${version} version has not started`);
    return gateway;
  }

  /** Starts the missing workers: one of each version. */
  async keepWorkers(): Promise<void> {
    for (const version of VERSIONS) {
      const worker = this.#workers.get(version);
      if (worker !== undefined && !worker.hasExited && !worker.hasLostLease) continue;
      this.#workers.set(version, this.#environment.turns.launchWorker({}, this.#roots[version]));
    }
    await Promise.all([...this.#workers.values()].map((worker) => worker.ready()));
  }

  /** Kills the worker of that name with -9. @returns its version, or null if no such worker runs */
  async killWorker(name: string | null): Promise<Version | null> {
    for (const [version, worker] of this.#workers) {
      if (worker.name !== name || worker.hasExited) continue;
      await worker.kill();
      return version;
    }
    return null;
  }

  follow({ session }: SessionRef): void {
    for (const { program } of this.viewers) program.send({ follow: session });
  }

  read(version: Version, ref: SessionRef, archives = false): Promise<SessionReading> {
    const reader = this.#readers.get(version);
    if (reader === undefined) throw new Error(`the reader of ${version} version has not started`);
    return reader.request({ ref, archives }, "folded", ({ session }) => session === ref.session);
  }

  view({ program }: Viewer, { session }: SessionRef, cursor: string): Promise<Viewed> {
    return program.request({ report: session, cursor }, "reported", ({ reported }) => reported === session);
  }

  /** Replaces the gateway of this version by one of the next, on the same port. */
  async upgradeGateway(): Promise<void> {
    const next = await this.#environment.replaceGateway(this.#gateway("this"), this.#roots.next);
    this.#gateways.set("this", next);
    for (const viewer of this.viewers) viewer.gateway = "next";
    await until("the gateway to answer", async () => (await fetch(`${next.url}/healthz`)).ok);
  }

  async stop(): Promise<void> {
    const programs = [...this.viewers.map(({ program }) => program), ...this.#readers.values()];
    await Promise.all(programs.map((program) => program.kill()));
  }
}
