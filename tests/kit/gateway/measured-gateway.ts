/**
 * `MeasuredGateway` starts the program run-measured-gateway.ts: a gateway on in-memory parts in its own process, whose
 * main thread nothing else uses. It measures the CPU time that an input costs there.
 * Invariant: only CPU time of that thread counts, so that other processes of the machine don't.
 */
import { join } from "node:path";
import type { GatewayLimits } from "@turnstream/server";
import { ChildProgram } from "../processes/child-program.ts";

export interface MeasuredSettings {
  readonly limits?: Partial<GatewayLimits>;
}

/** What the program creates before it listens. */
export interface MeasuredFixtures {
  readonly url: string;
  /** Headers of a user with all scopes. */
  readonly auth: Readonly<Record<string, string>>;
  /** Headers of a user of another tenant, whose key can only read. */
  readonly reader: Readonly<Record<string, string>>;
  /** A session of the first user. */
  readonly session: string;
  /** A pending form with one field of each type. */
  readonly form: string;
  /** Pending approvals whose tool has a schema with a catastrophic pattern, and one with exponential references. */
  readonly approvals: readonly [pattern: string, references: string];
}

/** `total`: all CPU time until `stop`. `longest`: the longest time without a turn of the event loop. */
export type MeasuredRequest =
  | { readonly start: "total" | "longest" }
  | { readonly stop: true }
  | { readonly measureHeap: true }
  | { readonly measureSlowness: true };

export type MeasuredMessage =
  | { readonly fixtures: MeasuredFixtures }
  | { readonly started: true }
  | { readonly usedMs: number }
  | { readonly heapUsed: number }
  | { readonly slowness: number }
  | { readonly failed: string };

export class MeasuredGateway extends ChildProgram<MeasuredMessage, MeasuredRequest> {
  #fixtures: MeasuredFixtures | null = null;

  private constructor(settings: MeasuredSettings) {
    const file = join(import.meta.dirname, "run-measured-gateway.ts");
    super({ file, settings, nodeFlags: ["--expose-gc"] });
  }

  static async launch(settings: MeasuredSettings = {}): Promise<MeasuredGateway> {
    const gateway = new MeasuredGateway(settings);
    gateway.#fixtures = (await gateway.waitFor("fixtures")).fixtures;
    return gateway;
  }

  get fixtures(): MeasuredFixtures {
    if (this.#fixtures === null) throw new Error("the gateway is not ready");
    return this.#fixtures;
  }

  /** Internal errors of the gateway so far. */
  get failures(): string[] {
    return this.findAll("failed").map(({ failed }) => failed);
  }

  /** Returns the CPU time of the gateway's main thread during the work, in milliseconds. */
  async measure(kind: "total" | "longest", work: () => Promise<void>): Promise<number> {
    await this.request({ start: kind }, "started");
    await work();
    return (await this.request({ stop: true }, "usedMs")).usedMs;
  }

  /**
   * Returns how much longer the same work takes at the moment than it can take, at least 1. Other processes that share
   * the caches of the processor also slow down the CPU time.
   */
  async measureSlowness(): Promise<number> {
    return (await this.request({ measureSlowness: true }, "slowness")).slowness;
  }

  /** The heap that the process uses after a garbage collection, in bytes. */
  async measureHeap(): Promise<number> {
    return (await this.request({ measureHeap: true }, "heapUsed")).heapUsed;
  }
}
