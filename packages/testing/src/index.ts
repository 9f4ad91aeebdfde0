/**
 * `@turnstream/testing` has what tests of an app need: a store in memory, and the models, log and signals for tests of
 * `@turnstream/server/testing`.
 */
export * from "@turnstream/server/testing";
export { createMemoryStore } from "./create-memory-store.ts";
