/**
 * `@turnstream/dialects`: pass one of `blocks`, `tasks` and `responses` as `dialect` of `createClient`, for a server
 * that doesn't speak the native one.
 */
export { blocks } from "./blocks/blocks.ts";
export { responses } from "./responses/responses.ts";
export { tasks } from "./tasks/tasks.ts";
