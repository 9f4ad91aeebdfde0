/**
 * `ROUTES` lists all HTTP routes.
 * Invariant: a route that is not in this list is not served. Tests compare the list with docs/http.md and check that
 * every route enforces ownership. They also list the POST routes that create something, and the routes without a
 * scope.
 */
import type { Route } from "../route.ts";
import { agentRoutes } from "./agents.ts";
import { blobRoutes } from "./blobs.ts";
import { fileRoutes } from "./files.ts";
import { historyRoutes } from "./history.ts";
import { interactionRoutes } from "./interactions.ts";
import { limitRoutes } from "./limits.ts";
import { memoryRoutes } from "./memories.ts";
import { eventRoutes } from "./events.ts";
import { messageRoutes } from "./messages.ts";
import { sessionRoutes } from "./sessions.ts";
import { shareRoutes } from "./shares.ts";
import { tokenRoutes } from "./tokens.ts";
import { turnRoutes } from "./turns.ts";
import { usageRoutes } from "./usage.ts";
import { webhookRoutes } from "./webhooks.ts";

export const ROUTES: readonly Route[] = [
  ...tokenRoutes,
  agentRoutes,
  ...sessionRoutes,
  ...messageRoutes,
  eventRoutes,
  ...shareRoutes,
  ...historyRoutes,
  ...turnRoutes,
  ...interactionRoutes,
  ...fileRoutes,
  ...blobRoutes,
  ...memoryRoutes,
  ...webhookRoutes,
  ...limitRoutes,
  ...usageRoutes,
];
