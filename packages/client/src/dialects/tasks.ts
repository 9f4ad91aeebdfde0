/** `@turnstream/client/tasks`: sessions of a server that speaks `tasks`. */
import { tasks as dialect, type TasksDecoder, type TasksFrame } from "@turnstream/protocol/tasks";
import type { ClientDialect } from "./client-dialect.ts";
import { Translator } from "./dialect-adapter.ts";

export const tasks: ClientDialect = {
  name: "tasks",
  begin: (parts) => new Translator<TasksDecoder, TasksFrame>({ dialect, tellsMessages: false }, parts),
};
