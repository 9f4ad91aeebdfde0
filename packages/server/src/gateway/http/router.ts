/** Finds the route of a method and a path in the one table. Pure. A fixed word is preferred to a parameter. */
import type { Route } from "./route.ts";

type Found =
  | { readonly kind: "route"; readonly route: Route; readonly params: Readonly<Record<string, string>> }
  /** The path is there, the method isn't. */
  | { readonly kind: "method"; readonly allowed: readonly string[] }
  | { readonly kind: "none" }
  /** The path can't be read. */
  | { readonly kind: "bad" };

export interface Router {
  /** @param path behind `/api/v1`, as it was sent */
  find(method: string, path: string): Found;
}

interface Node {
  readonly words: Map<string, Node>;
  param: { readonly name: string; readonly node: Node } | null;
  readonly methods: Map<string, Route>;
}

const SESSIONS = /^\/sessions(?=\/|$)/;
const PARAM = /^\{(\w+)\}$/;

/** Throws for a table that has two routes for the same thing. */
export function createRouter(routes: readonly Route[]): Router {
  const root = newNode();
  for (const route of routes) {
    add(root, route.path, route);
    if (SESSIONS.test(route.path)) add(root, route.path.replace(SESSIONS, "/chats"), route);
  }
  return {
    find(method, path) {
      const segments = decoded(path);
      if (segments === null) return { kind: "bad" };
      const params: Record<string, string> = {};
      const node = walk(root, segments, 0, params);
      if (node === null) return { kind: "none" };
      const route = node.methods.get(method === "HEAD" ? "GET" : method);
      return route === undefined
        ? { kind: "method", allowed: allowedOf(node) }
        : { kind: "route", route, params };
    },
  };
}

function newNode(): Node {
  return { words: new Map(), param: null, methods: new Map() };
}

function add(root: Node, path: string, route: Route): void {
  let node = root;
  for (const segment of path.split("/").slice(1)) {
    const name = PARAM.exec(segment)?.[1];
    if (name !== undefined) {
      node.param ??= { name, node: newNode() };
      if (node.param.name !== name)
        throw new TypeError(`${route.path}: another route calls {${name}} {${node.param.name}}`);
      node = node.param.node;
      continue;
    }
    let next = node.words.get(segment);
    if (next === undefined) node.words.set(segment, (next = newNode()));
    node = next;
  }
  if (node.methods.has(route.method)) throw new TypeError(`two routes for ${route.method} ${path}`);
  node.methods.set(route.method, route);
}

/** The params are only good when something was found. */
function walk(
  node: Node,
  segments: readonly string[],
  at: number,
  params: Record<string, string>,
): Node | null {
  const segment = segments[at];
  if (segment === undefined) return node.methods.size > 0 ? node : null;
  const word = node.words.get(segment);
  const found = word === undefined ? null : walk(word, segments, at + 1, params);
  if (found !== null) return found;
  if (node.param === null || segment === "") return null;
  const inner = walk(node.param.node, segments, at + 1, params);
  if (inner !== null) params[node.param.name] = segment;
  return inner;
}

function decoded(path: string): string[] | null {
  try {
    return path.split("/").slice(1).map(decodeURIComponent);
  } catch {
    return null;
  }
}

function allowedOf({ methods }: Node): string[] {
  const allowed = [...methods.keys()];
  return ["OPTIONS", ...(methods.has("GET") ? ["HEAD"] : []), ...allowed].toSorted();
}
