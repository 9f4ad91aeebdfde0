/** The one table of routes. A test compares it with the docs, and another holds every route to its owner. */
import type { Route } from "./route.ts";
import { allowanceRoutes } from "./routes/allowances.ts";
import { blobRoutes } from "./routes/blobs.ts";
import { fileRoutes } from "./routes/files.ts";
import { historyRoutes } from "./routes/history.ts";
import { interactionRoutes } from "./routes/interactions.ts";
import { knowledgeRoutes } from "./routes/knowledge.ts";
import { memoryRoutes } from "./routes/memories.ts";
import { events } from "./routes/events.ts";
import { messages } from "./routes/messages.ts";
import { sessionRoutes } from "./routes/sessions.ts";
import { shareRoutes } from "./routes/shares.ts";
import { tokenRoutes } from "./routes/tokens.ts";
import { turnRoutes } from "./routes/turns.ts";

export const ROUTES: readonly Route[] = [
  ...tokenRoutes,
  ...sessionRoutes,
  messages,
  events,
  ...shareRoutes,
  ...historyRoutes,
  ...turnRoutes,
  ...interactionRoutes,
  ...allowanceRoutes,
  ...fileRoutes,
  ...blobRoutes,
  ...knowledgeRoutes,
  ...memoryRoutes,
];
