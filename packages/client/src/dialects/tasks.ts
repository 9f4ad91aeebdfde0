/** `@turnstream/client/tasks`: connects the client to a server of the `tasks` dialect. */
import { tasks as dialect, type TasksDecoder, type TasksFrame } from "@turnstream/protocol/tasks";
import type { ClientDialect } from "./client-dialect.ts";
import { DialectAdapter } from "./dialect-adapter.ts";

export const tasks: ClientDialect = {
  name: "tasks",
  connect: (context) =>
    new DialectAdapter<TasksDecoder, TasksFrame>({ dialect, sendsUserMessages: false }, context),
};
