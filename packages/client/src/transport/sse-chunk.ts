/**
 * Exports `createSseParser`, the parser of event streams, as a separate chunk that is loaded only if sockets are
 * blocked.
 * Invariant: `sse.ts` imports this file only dynamically. A static import would add the parser to the first load of
 * every page.
 */
export { createSseParser } from "@turnstream/protocol";
