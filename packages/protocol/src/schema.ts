/**
 * `@turnstream/protocol/schema`: the schemas of events, frames, commands and bodies, for code that validates what it
 * receives. This is a separate subpath, because it loads the schema library.
 */
export { errorReply, type ErrorReply, postMessage, type PostMessageReply } from "./commands/http.ts";
export { type RestBody, restBodies, restReplies, type RestReply } from "./commands/rest.ts";
export { type SocketCommand, socketCommandSchema, type SocketReply } from "./commands/socket.ts";
export { blocksFrameSchema } from "./dialects/blocks/frames.ts";
export { responsesFrameSchema } from "./dialects/responses/frames.ts";
export { tasksFrameSchema } from "./dialects/tasks/frames.ts";
export { eventSchema } from "./events/index.ts";
export { FIELD_TYPES } from "./events/interactions.ts";
