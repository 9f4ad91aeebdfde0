/** `WorkerFeature` is what a feature adds to a worker. Types only. */
import type { CommandBackend } from "../session/backend.ts";
import type { StoreFeature } from "../store/features.ts";
import type { Env } from "../util/env.ts";
import type { ErrorHandler } from "../util/error-handler.ts";
import type { RequestKind } from "../engine/attempt/request-kind.ts";

/** What a task works with. */
export interface TaskContext extends CommandBackend {
  readonly env: Env;
  readonly onError: ErrorHandler;
}

interface FeatureTask {
  /** For errors: what it does, such as "closing old orders". */
  readonly name: string;
  /** `poll`: every `pollIntervalMs`. `maintenance`: every `maintenanceIntervalMs`. */
  readonly every: "poll" | "maintenance";
  /**
   * Every worker runs it, so it must lease what it works on, or be harmless when two run it at the same time. It never runs
   * twice at a time in one worker.
   */
  run(context: TaskContext): Promise<void>;
}

export interface WorkerFeature extends StoreFeature {
  readonly tasks?: readonly FeatureTask[];
  /** Kinds of the protocol that no turn can request without the feature. */
  readonly requestKinds?: readonly RequestKind[];
}
