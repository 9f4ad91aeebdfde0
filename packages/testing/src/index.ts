/**
 * `@turnstream/testing` has what tests of an app need: a store in memory, and all of `@turnstream/server/testing`, which are
 * scripted models, and the log and the signals in memory.
 */
export * from "@turnstream/server/testing";
export { createMemoryStore } from "./create-memory-store.ts";
