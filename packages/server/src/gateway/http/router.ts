/**
 * `createRouter` finds the route for a method and a path. Pure.
 * Invariant: literal segments take precedence over parameters, whatever the order of the routes. Literal segments are
 * compared without decoding, so each route has one spelling, for proxies and logs too. Parameters are decoded once
 * and after the split, so an encoded slash stays in its segment. Parameters are never empty. Two routes with the same
 * method and path are an error at startup. `/chats` is served like `/sessions` unless a route names it, and HEAD like
 * GET.
 */
import type { Route } from "./route.ts";

type RouteMatch =
  | { readonly kind: "route"; readonly route: Route; readonly params: Readonly<Record<string, string>> }
  /** The path exists, but not with this method. */
  | { readonly kind: "method"; readonly allowed: readonly string[] }
  | { readonly kind: "none" }
  /** The path can't be decoded. */
  | { readonly kind: "bad" };

export interface Router {
  /** @param path the undecoded path after `/api/v1` */
  find(method: string, path: string): RouteMatch;
}

interface RouteNode {
  readonly literals: Map<string, RouteNode>;
  param: { readonly name: string; readonly node: RouteNode } | null;
  readonly methods: Map<string, Route>;
}

const SESSIONS = /^\/sessions(?=\/|$)/;
const PARAM = /^\{(\w+)\}$/;

/** @throws TypeError if two routes have the same method and path */
export function createRouter(routes: readonly Route[]): Router {
  const root = createNode();
  for (const route of routes) {
    addRoute(root, route.path, route);
    const alias = route.path.replace(SESSIONS, "/chats");
    const isOwn = routes.some(({ method, path }) => method === route.method && path === alias);
    if (!isOwn) addRoute(root, alias, route);
  }
  return {
    find(method, path) {
      const encoded: Record<string, string> = {};
      const node = walk(root, path.split("/").slice(1), 0, encoded);
      if (node === null) return { kind: "none" };
      const params = decodeParams(encoded);
      if (params === null) return { kind: "bad" };
      const route = node.methods.get(method === "HEAD" ? "GET" : method);
      return route === undefined
        ? { kind: "method", allowed: listAllowedMethods(node) }
        : { kind: "route", route, params };
    },
  };
}

function createNode(): RouteNode {
  return { literals: new Map(), param: null, methods: new Map() };
}

function addRoute(root: RouteNode, path: string, route: Route): void {
  let node = root;
  for (const segment of path.split("/").slice(1)) {
    const name = PARAM.exec(segment)?.[1];
    if (name !== undefined) {
      node.param ??= { name, node: createNode() };
      if (node.param.name !== name)
        throw new TypeError(`${route.path}: another route calls {${name}} {${node.param.name}}`);
      node = node.param.node;
      continue;
    }
    let next = node.literals.get(segment);
    if (next === undefined) node.literals.set(segment, (next = createNode()));
    node = next;
  }
  if (node.methods.has(route.method)) throw new TypeError(`two routes for ${route.method} ${path}`);
  node.methods.set(route.method, route);
}

/** `params` is valid only if a node was found. */
function walk(
  node: RouteNode,
  segments: readonly string[],
  index: number,
  params: Record<string, string>,
): RouteNode | null {
  const segment = segments[index];
  if (segment === undefined) return node.methods.size > 0 ? node : null;
  const literal = node.literals.get(segment);
  const found = literal === undefined ? null : walk(literal, segments, index + 1, params);
  if (found !== null) return found;
  if (node.param === null || segment === "") return null;
  const inner = walk(node.param.node, segments, index + 1, params);
  if (inner !== null) params[node.param.name] = segment;
  return inner;
}

function decodeParams(encoded: Readonly<Record<string, string>>): Record<string, string> | null {
  try {
    return Object.fromEntries(
      Object.entries(encoded).map(([name, segment]) => [name, decodeURIComponent(segment)]),
    );
  } catch {
    return null;
  }
}

function listAllowedMethods({ methods }: RouteNode): string[] {
  const allowed = [...methods.keys()];
  return ["OPTIONS", ...(methods.has("GET") ? ["HEAD"] : []), ...allowed].toSorted();
}
