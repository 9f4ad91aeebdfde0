/** The one table of routes. A test compares it with the docs, and another holds every route to its owner. */
import type { Route } from "./route.ts";
import { sessionRoutes } from "./routes/sessions.ts";
import { tokenRoutes } from "./routes/tokens.ts";

export const ROUTES: readonly Route[] = [...tokenRoutes, ...sessionRoutes];
