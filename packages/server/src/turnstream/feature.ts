/**
 * `ServerFeature` is what a package adds to a server: routes, commands, tasks, requests to the user, and tables. Types
 * only.
 */
import type { GatewayFeature } from "../gateway/feature.ts";
import type { WorkerFeature } from "../worker/worker-feature.ts";

export interface ServerFeature extends GatewayFeature, WorkerFeature {}
