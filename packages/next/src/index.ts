/**
 * `@turnstream/next`: a Turnstream server inside a Next.js app.
 * Invariant: nothing here imports Next.js, so the package works with every version that has route handlers and
 * `instrumentation.ts`.
 */
export { createHandlers, createTurnstream, type Handlers, type NextTurnstream } from "./create-turnstream.ts";
export { readSession } from "./read-session.ts";
