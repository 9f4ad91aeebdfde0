/**
 * Which module may import which. Paths are relative to the folder being cruised.
 * `written` sees every import in the source, type-only ones included; `atRunTime` sees what is left once
 * types are erased. Read by scripts/check-direction.ts; never run on its own.
 */

/** @typedef {import("dependency-cruiser").IForbiddenRuleType} Rule */

/** @type {(...names: string[]) => string[]} */
const npm = (...names) => names.map((name) => `(^|/)node_modules/${name}/`);

/**
 * Each package and the other packages it may import.
 * @type {Record<string, string[]>}
 */
const mayImport = {
  protocol: [],
  server: ["protocol"],
  cli: ["server"],
  client: ["protocol"],
  react: ["protocol", "client"],
  studio: ["protocol", "client", "react"],
};

/** @type {Rule[]} */
const packageDirection = Object.entries(mayImport).map(([name, allowed]) => ({
  name: `${name}-direction`,
  severity: "error",
  comment: `${name} may import ${allowed.join(", ") || "no other package"}`,
  from: { path: `^packages/${name}/src/` },
  to: { path: "^packages/", pathNot: `^packages/(${[name, ...allowed].join("|")})/` },
}));

/**
 * Folders of the server: `from` may not reach `to`, not even through a third module.
 * @type {(name: string, from: string, to: string, comment: string) => Rule}
 */
const apart = (name, from, to, comment) => ({
  name,
  severity: "error",
  comment,
  from: { path: `^packages/server/src/${from}/` },
  to: { path: `^packages/server/src/${to}/`, reachable: true },
});

/** @type {Rule[]} */
export const written = [
  ...packageDirection,
  apart("runtime-not-to-gateway", "runtime", "gateway", "they meet only in log and store"),
  apart(
    "gateway-not-to-runtime",
    "gateway",
    "(runtime|engine|models|payments)",
    "they meet only in log and store",
  ),
  apart(
    "log-and-store-at-the-bottom",
    "(log|store|session)",
    "(runtime|engine|models|payments|gateway)",
    "ports know no user",
  ),
  apart(
    "knowledge-on-the-store",
    "knowledge",
    "(log|session|runtime|engine|models|payments|gateway)",
    "it brings texts to the store, for whoever calls",
  ),
  apart("log-on-its-own", "log", "(store|session)", "session joins the two; neither knows the other"),
  apart("store-on-its-own", "store", "(log|session)", "session joins the two; neither knows the other"),
  {
    name: "outside-on-its-own",
    severity: "error",
    comment: "what meets foreign bytes depends on nobody, so that it can be judged by itself",
    from: { path: "^packages/server/src/(outside|extract)/" },
    to: { path: "^packages/[^/]+/src/", pathNot: "^packages/server/src/$1/" },
  },
  {
    name: "mcp-on-its-own",
    severity: "error",
    comment: "who takes no tools from MCP servers needs no MCP client: it is an entry of its own",
    from: { path: "^packages/server/src/", pathNot: "^packages/server/src/mcp/" },
    to: { path: ["^packages/server/src/mcp/", ...npm("@modelcontextprotocol/[^/]+")] },
  },
  {
    name: "mcp-uses-little",
    severity: "error",
    comment: "a source of tools knows what a tool is, and how one asks people; not how turns run",
    from: { path: "^packages/server/src/mcp/" },
    to: {
      path: "^packages/server/src/",
      pathNot: [
        "^packages/server/src/mcp/",
        "^packages/server/src/runtime/(define/|host[.]ts|pause[.]ts|interactions/ask-form[.]ts)",
        "^packages/server/src/(models/|store/env[.]ts|within-time[.]ts)",
      ],
    },
  },
  {
    name: "protocol-imports-little",
    severity: "error",
    comment: "protocol runs anywhere: zod, eventsource-parser and itself, no Node module",
    from: { path: "^packages/protocol/src/" },
    to: { pathNot: ["^packages/", ...npm("zod", "eventsource-parser")] },
  },
  {
    name: "dialects-apart",
    severity: "error",
    comment: "a dialect never leans on another; what they share stands beside them",
    from: { path: "^packages/protocol/src/dialects/([^/]+)/" },
    to: { path: "^packages/protocol/src/dialects/[^/]+/", pathNot: "^packages/protocol/src/dialects/$1/" },
  },
  {
    name: "src-not-to-test",
    severity: "error",
    comment: "what is published never imports what only we run",
    from: { path: "^packages/[^/]+/src/" },
    to: {
      path: [
        "^packages/[^/]+/(test|scripts)/",
        "^(conformance|services|chaos|bench|gallery|browser|examples|scripts)/",
        "[.]test[.]tsx?$",
      ],
    },
  },
  {
    name: "src-not-to-undeclared",
    severity: "error",
    comment: "a published package must declare what it imports as a dependency",
    from: { path: "^packages/[^/]+/src/" },
    // A peer has to be installed for the tests as well, and then counts as both.
    to: { dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"], pathNot: npm("react") },
  },
  {
    name: "resolvable",
    severity: "error",
    comment: "an import that resolves to nothing escapes every other rule",
    from: {},
    to: { couldNotResolve: true },
  },
];

/** @type {Rule[]} */
export const atRunTime = [
  {
    name: "zod-stays-in-schemas",
    severity: "error",
    comment: "zod is a value only where schemas are declared",
    from: {
      path: "^packages/protocol/src/",
      pathNot: [
        "^packages/protocol/src/events/",
        "^packages/protocol/src/commands/",
        "^packages/protocol/src/dialects/([^/]+/frames|shapes)[.]ts$",
        "^packages/protocol/src/schema[^/]*[.]ts$",
      ],
    },
    to: { path: npm("zod") },
  },
  {
    name: "protocol-root-without-zod",
    severity: "error",
    comment: "the root entry is small enough for every page; validation is behind ./schema",
    from: { path: "^packages/protocol/src/index[.]ts$" },
    to: { path: npm("zod"), reachable: true },
  },
  {
    name: "no-cycles",
    severity: "error",
    comment: "modules that need each other at run time depend on load order",
    from: {},
    to: { circular: true },
  },
];
