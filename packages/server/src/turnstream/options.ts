/**
 * `TurnstreamOptions` are the options of `turnstream()`, and `assertTurnstreamOptions` refuses unknown ones.
 * Invariant: a misspelled `dataFolder` or `redisUrl` is an error, because without them everything is in memory.
 */
import type { UserOf } from "../gateway/auth/sign-in.ts";
import type { ServerOptions } from "../gateway/create-server.ts";
import type { GatewayOptions } from "../gateway/options.ts";
import type { ServerSettings } from "../operator/settings.ts";
import type { Agent } from "../runtime/define/agent.ts";
import { assertKnownOptions, type OptionKeys } from "../runtime/define/check-options.ts";
import { WORKER_OPTIONS, type WorkerOptions } from "../runtime/worker/options.ts";
import type { ObjectStorage } from "../store/ports/objects.ts";
import type { SecurityEventHandler } from "../util/security-event.ts";

/** Options that `turnstream` sets itself, or that both gateway and worker need. */
const OWN = [
  "store",
  "log",
  "signals",
  "engine",
  "agents",
  "secrets",
  "signIn",
  "payments",
  "onSecurityEvent",
] as const;
type OwnOptions = (typeof OWN)[number];

export interface TurnstreamOptions extends ServerSettings {
  /** The first one answers messages that name no agent. */
  readonly agents: readonly Agent[];
  /** Returns the id of the user who sends a request, for example from a cookie, or null if the user is not signed in. */
  readonly user: UserOf;
  /** The tenant of all users. @default "default" */
  readonly tenant?: string;
  /** Lets agents request payments. Default: agents can't request payments. */
  readonly payments?: GatewayOptions["payments"];
  /** Whether this process runs turns too. Without it, start a worker in another process. @default true */
  readonly runsTurns?: boolean;
  /**
   * Keeps files, such as `createS3Storage` of `@turnstream/server/s3`. Not used in memory.
   * @default none: PostgreSQL keeps them
   */
  readonly storage?: ObjectStorage;
  /**
   * Keeps the data in this folder while neither `databaseUrl` nor `redisUrl` is set, for development. It needs the
   * package `@electric-sql/pglite`; without it, everything is in memory. One process at a time can use a folder.
   * @default none: everything is in memory
   */
  readonly dataFolder?: string;
  /** Whether to create and update the tables at the start. @default true, unless NODE_ENV is "production" */
  readonly migrates?: boolean;
  /**
   * Whether an agent whose provider has no API key answers with a text that names the variable to set, for development.
   * Otherwise its turns fail.
   * @default false
   */
  readonly scriptedAnswers?: boolean;
  /**
   * Called for refused sign-ins, foreign origins, floods, invalid signatures and workers that were replaced. It must be
   * fast. Default: `print` gets a bounded number of lines, and does so too with this option.
   */
  readonly onSecurityEvent?: SecurityEventHandler;
  /** Prints one line per turn and per error, and a bounded number for security events; false prints nothing. @default standard error */
  readonly print?: ((line: string) => void) | false;
  /** Whether to print also one line per tool call and per request to the user. @default false */
  readonly printsSteps?: boolean;
  /**
   * Answers requests to `listen` that are not for the gateway, such as those for your page. Null answers 404. The
   * request has no body.
   */
  readonly page?: ServerOptions["page"];
  /** Further options of the gateway, such as `allowedOrigins`. */
  readonly gateway?: Omit<GatewayOptions, OwnOptions>;
  /** Further options of the worker, such as `defaultLocale`. */
  readonly worker?: Omit<WorkerOptions, OwnOptions>;
}

const OPTIONS: OptionKeys<TurnstreamOptions> = {
  agents: true,
  user: true,
  tenant: false,
  databaseUrl: false,
  redisUrl: false,
  secret: false,
  auditKey: false,
  schema: false,
  payments: false,
  runsTurns: false,
  storage: false,
  dataFolder: false,
  migrates: false,
  scriptedAnswers: false,
  onSecurityEvent: false,
  print: false,
  printsSteps: false,
  page: false,
  gateway: false,
  worker: false,
};

const GATEWAY: OptionKeys<Omit<GatewayOptions, OwnOptions>> = {
  publicUrl: false,
  allowedOrigins: false,
  trustProxy: false,
  tokens: false,
  limits: false,
  callerLimits: false,
  env: false,
  onError: false,
  onLoss: false,
};

const WORKER = Object.fromEntries(
  Object.entries(WORKER_OPTIONS).filter(([name]) => !(OWN as readonly string[]).includes(name)),
);

/** @throws RuntimeError */
export function assertTurnstreamOptions(options: TurnstreamOptions): void {
  assertKnownOptions(options, OPTIONS, "turnstream()", "BAD_OPTIONS");
  assertKnownOptions(options.gateway, GATEWAY, "`gateway` of turnstream()", "BAD_OPTIONS");
  assertKnownOptions(options.worker, WORKER, "`worker` of turnstream()", "BAD_OPTIONS");
}
