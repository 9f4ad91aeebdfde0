/** The entry that first-load.nightly.test.ts measures: what a page imports to show the thread of a live session. */
export { SessionProvider, Thread } from "../src/index.ts";
export { createClient } from "@turnstream/client";
