/** What first-load.test.ts weighs: everything that a page can import from the root entries of this package and the client. */
export * from "../src/index.ts";
export * from "@turnstream/client";
