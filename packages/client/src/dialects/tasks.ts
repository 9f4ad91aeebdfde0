/** `@turnstream/client/tasks`: sessions of a server that speaks `tasks`. */
import { tasks as dialect, type TasksDecoder, type TasksFrame } from "@turnstream/protocol/tasks";
import type { ClientDialect } from "./client-dialect.ts";
import { DialectAdapter } from "./dialect-adapter.ts";

export const tasks: ClientDialect = {
  name: "tasks",
  connect: (context) =>
    new DialectAdapter<TasksDecoder, TasksFrame>({ dialect, sendsUserMessages: false }, context),
};
