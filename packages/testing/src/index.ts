/**
 * `@turnstream/testing` has what tests of an app need: a store in memory, and all of `@turnstream/server/testing`, which are
 * scripted models, the log and the signals in memory, and a payment sandbox.
 */
export * from "@turnstream/server/testing";
export { createMemoryStore } from "./create-memory-store.ts";
