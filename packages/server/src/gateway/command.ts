/**
 * `Command` is a command of a socket that changes something, with what runs it. `FeatureCommands` are those that a feature
 * runs. Types only.
 */
import type { SocketCommand, SocketReply } from "@turnstream/protocol/schema";
import type { CommandBackend } from "../session/backend.ts";
import type { Env } from "../util/env.ts";
import type { ErrorHandler } from "../util/error-handler.ts";
import type { SessionRef } from "../util/refs.ts";
import type { CallerLimiter } from "./limits/caller-limiter.ts";
import type { Caller } from "./caller.ts";

export type CommandWithType<Type extends SocketCommand["type"]> = Extract<
  SocketCommand,
  { readonly type: Type }
>;
export type Command = Exclude<SocketCommand, { readonly type: "subscribe" | "unsubscribe" | "ping" }>;
/** The reply to the sender. */
export type AckPayload = Omit<Extract<SocketReply, { readonly type: "ack" }>, "type" | "request_id">;

export interface CommandContext extends CommandBackend {
  readonly env: Env;
  readonly onError: ErrorHandler;
  readonly limiter: Pick<CallerLimiter, "ownerLimits">;
  readonly commands: FeatureCommands;
}

/** Each command by its type. */
export type CommandsByType = { readonly [Type in Command["type"]]: CommandWithType<Type> };

/** The caller is authenticated, has the scope of the command and owns the session. */
export type FeatureCommands = {
  readonly [Type in keyof CommandsByType]?: (
    context: CommandContext,
    caller: Caller,
    ref: SessionRef,
    command: CommandsByType[Type],
  ) => Promise<AckPayload>;
};
