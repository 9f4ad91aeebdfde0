/** The parser of event streams, in a separate chunk that is loaded only if sockets are blocked. */
export { createSseParser } from "@turnstream/protocol";
