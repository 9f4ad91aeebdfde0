/** The entry of a page that draws a session itself, which first-load.nightly.test.ts measures. */
export { SessionProvider, useThread } from "../src/index.ts";
export { createClient } from "@turnstream/client";
