/** The routes and scopes of the server and of `FEATURES`, for tests that cover all of them. */
import { FEATURES } from "@turnstream/testkit/backend/test-features.ts";
import { type Scope, SCOPES } from "../../src/gateway/auth/access.ts";
import type { Route } from "../../src/gateway/http/route.ts";
import { ROUTES } from "../../src/gateway/http/routes/index.ts";
import { listTokenScopes } from "../../src/gateway/options.ts";

export const ALL_ROUTES: readonly Route[] = [...ROUTES, ...FEATURES.flatMap(({ routes = [] }) => routes)];
export const ALL_SCOPES: readonly Scope[] = [
  ...SCOPES,
  ...FEATURES.flatMap(({ name, scope }) => (scope === undefined ? [] : [name])),
];
/** Those that tokens can have. */
export const ALL_TOKEN_SCOPES: readonly Scope[] = listTokenScopes(FEATURES);
