/**
 * `TurnstreamOptions` are the options of `turnstream()`, and `resolveOptions` validates them.
 * Invariant: a misspelled `dataFolder` or `redisUrl` is an error, because the data would be in another place.
 */
import { z } from "zod";
import type { UserOf } from "../gateway/auth/sign-in.ts";
import type { ServerOptions } from "../gateway/create-server.ts";
import { type GatewayOptions, gatewayShape } from "../gateway/options.ts";
import { DEFAULT_TENANT, type ServerSettings, settingsShape } from "./settings.ts";
import type { ServerFeature } from "./feature.ts";
import type { Agent } from "../agent/define/agent.ts";
import { type WorkerOptions, workerShape } from "../worker/options.ts";
import type { ObjectStorage } from "../store/objects.ts";
import { func, object, type OptionsInput, type OptionsOutput, parseOptions } from "../util/parse-options.ts";
import type { SecurityEventHandler } from "../util/security-event.ts";

/** Options that `turnstream` sets itself, or that both gateway and worker need. */
const OWN = {
  store: true,
  log: true,
  signals: true,
  features: true,
  onSecurityEvent: true,
} as const satisfies Partial<Record<keyof GatewayOptions & keyof WorkerOptions, true>>;
const OF_GATEWAY = { ...OWN, secrets: true, signIn: true } as const satisfies Partial<
  Record<keyof GatewayOptions, true>
>;
const OF_WORKER = { ...OWN, agents: true } as const satisfies Partial<Record<keyof WorkerOptions, true>>;

type FurtherGatewayOptions = Omit<GatewayOptions, keyof typeof OF_GATEWAY>;
type FurtherWorkerOptions = Omit<WorkerOptions, keyof typeof OF_WORKER>;

const gatewayOptions: z.ZodType<unknown, FurtherGatewayOptions> = z
  .strictObject(gatewayShape)
  .omit(OF_GATEWAY);
const workerOptions: z.ZodType<unknown, FurtherWorkerOptions> = z.strictObject(workerShape).omit(OF_WORKER);

const turnstreamShape = {
  /** The first one answers messages that name no agent. */
  agents: z.custom<readonly Agent[]>(Array.isArray, "a list of agents"),
  /**
   * Gets the `Request` of a page that signs in, and returns the id of the user, or null if the request is not signed
   * in. Read your app's cookie here.
   */
  user: func<UserOf>(),
  /** The tenant of all users. It is created if it doesn't exist. @default "default" */
  tenant: z.string().default(DEFAULT_TENANT),
  /** [Features](features.md), such as payments and knowledge bases. @default [] */
  features: z.custom<readonly ServerFeature[]>(Array.isArray, "a list of features").default([]),
  /** With `false`, `listen` and `handle` only serve clients. Start `app.worker()` in another process. @default true */
  runsTurns: z.boolean().default(true),
  /** Keeps files, for example [in S3](files.md#keep-files-in-s3). @default none: PostgreSQL */
  storage: object<ObjectStorage>().optional(),
  /**
   * Keeps the data in this folder while neither address is set. It needs the package `@turnstream/dev`. One process at a
   * time can use a folder. @default ".turnstream"
   */
  dataFolder: z.string().default(".turnstream"),
  /**
   * Creates and updates the tables at the start. In production, run `turnstream migrate` before you
   * [deploy](upgrade.md).
   * @default `true`, unless `NODE_ENV` is `production`
   */
  migrates: z.boolean().optional(),
  /**
   * While a provider has no API key, its agents answer with a text that names the variable to set. Use it in
   * development: `scriptedAnswers: process.env.NODE_ENV !== "production"`.
   * @default false
   */
  scriptedAnswers: z.boolean().default(false),
  /** Called for refused sign-ins, foreign origins, floods and other [security events](security-events.md). */
  onSecurityEvent: func<SecurityEventHandler>().optional(),
  /**
   * Receives one line per turn and per error, and a bounded number of lines for security events.
   * @default standard error
   */
  print: z.union([z.literal(false), func<(line: string) => void>()]).optional(),
  /** Prints also one line per tool call and per request to the user, such as an approval. @default false */
  printsSteps: z.boolean().default(false),
  /** Gets each GET `Request` to `listen` that no other route handles, and returns its `Response`, or null for 404. */
  page: func<NonNullable<ServerOptions["page"]>>().optional(),
  /**
   * Further [options of the gateway](gateway.md#options-of-creategateway-and-createserver), such as `allowedOrigins`.
   */
  gateway: gatewayOptions.optional(),
  /** Further [options of the worker](agents.md#startworkeroptions), such as `defaultLocale`. */
  worker: workerOptions.optional(),
};

export interface TurnstreamOptions extends ServerSettings, OptionsInput<typeof turnstreamShape> {}
type Resolved = OptionsOutput<typeof turnstreamShape>;
/** `gateway` and `worker` are as given, because these fill in their defaults themselves. */
export interface ResolvedTurnstreamOptions extends ServerSettings, Omit<Resolved, "gateway" | "worker"> {
  readonly gateway: FurtherGatewayOptions;
  readonly worker: FurtherWorkerOptions;
}

const schema = z.strictObject({ ...settingsShape, ...turnstreamShape });

/** @throws OptionsError */
export function resolveOptions(options: TurnstreamOptions): ResolvedTurnstreamOptions {
  const resolved = parseOptions(schema, options, "turnstream()");
  return { ...resolved, gateway: options.gateway ?? {}, worker: options.worker ?? {} };
}
