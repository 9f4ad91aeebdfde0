/** What reads event streams, apart from the rest so that it is loaded only where sockets don't pass. */
export { createSseParser } from "@turnstream/protocol";
