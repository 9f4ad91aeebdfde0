/** What first-load.test.ts weighs: what a page imports to show a thread of a live session. */
export { SessionProvider, Thread } from "../src/index.ts";
export { createClient } from "@turnstream/client";
