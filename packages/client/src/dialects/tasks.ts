/**
 * `tasks` (`@turnstream/client/tasks`) connects the client to a server of the `tasks` dialect.
 * Invariant: the dialect has no user messages, so the adapter adds those that this client sends. It loads no history.
 */
import { tasks as dialect, type TasksDecoder, type TasksFrame } from "@turnstream/protocol/tasks";
import type { ClientDialect } from "./client-dialect.ts";
import { DialectAdapter } from "./dialect-adapter.ts";

export const tasks: ClientDialect = {
  name: "tasks",
  connect: (context) =>
    new DialectAdapter<TasksDecoder, TasksFrame>({ dialect, sendsUserMessages: false }, context),
};
