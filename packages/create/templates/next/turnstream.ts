/** The server. Next.js evaluates this file several times, and `createTurnstream` returns the same server each time. */
import { createTurnstream } from "@turnstream/next";
import options from "./agent.ts";

export const app = createTurnstream(options);
