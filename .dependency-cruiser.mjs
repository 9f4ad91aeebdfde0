/**
 * Defines which module may import which. Paths are relative to the cruised folder.
 * `written` checks every import in the source, including type-only ones. `atRunTime` checks the imports that are left
 * after types are erased. scripts/check-direction.ts reads this file.
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
  dev: [],
  files: [],
  server: ["dev", "files", "protocol"],
  cli: ["knowledge", "payments", "protocol", "server"],
  next: ["client", "server"],
  mcp: ["protocol", "server"],
  s3: ["server"],
  knowledge: ["protocol", "server"],
  payments: ["protocol", "server"],
  tools: ["protocol", "server"],
  testing: ["protocol", "server"],
  client: ["protocol"],
  dialects: ["protocol", "client"],
  react: ["protocol", "client"],
  create: [],
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

/** @type {Rule[]} */
export const written = [
  ...packageDirection,
  {
    name: "no-cycles-of-types",
    severity: "error",
    comment: "modules in a cycle can't be understood one at a time. `no-cycles` checks the benches",
    from: { pathNot: "^bench/" },
    to: { circular: true },
  },
  {
    name: "entries-at-the-top",
    severity: "error",
    comment: "an entry point re-exports what folders export; no folder imports it",
    from: { path: "^packages/server/src/[^/]+/" },
    to: { path: "^packages/server/src/[^/]+[.]ts$" },
  },
  {
    name: "log-and-store-apart",
    severity: "error",
    comment: "only session may import both; they don't import each other",
    from: { path: "^packages/server/src/(log|store)/" },
    to: { path: "^packages/server/src/(log|store|session)/", pathNot: "^packages/server/src/$1/" },
  },
  {
    name: "worker-and-gateway-apart",
    severity: "error",
    comment: "worker and gateway communicate only through log and store",
    from: { path: "^packages/server/src/(worker|agent|engine|models)/" },
    to: { path: "^packages/server/src/gateway/" },
  },
  {
    name: "gateway-runs-nothing",
    severity: "error",
    comment: "worker and gateway communicate only through log and store",
    from: { path: "^packages/server/src/gateway/" },
    to: { path: "^packages/server/src/(worker|agent|engine|models)/" },
  },
  {
    name: "engine-runs-any-body",
    severity: "error",
    comment: "the engine knows turns as `TurnBody`. An agent is one of them",
    from: { path: "^packages/server/src/engine/" },
    to: { path: "^packages/server/src/(worker|agent|models)/" },
  },
  {
    name: "agent-below-worker",
    severity: "error",
    comment: "a worker gives its agents what they share",
    from: { path: "^packages/server/src/agent/" },
    to: { path: "^packages/server/src/worker/" },
  },
  {
    name: "foreign-bytes-apart",
    severity: "error",
    comment:
      "code that reads untrusted bytes imports only util and the parsers, so that it can be reviewed by itself",
    from: { path: "^packages/server/src/(safe-fetch|text-extraction)/" },
    to: { path: "^packages/[^/]+/src/", pathNot: "^packages/(files/src|server/src/($1|util))/" },
  },
  {
    name: "dev-on-its-own",
    severity: "error",
    comment:
      "production must not need PostgreSQL in the process, so only the folder's module imports its package",
    from: { path: "^packages/[^/]+/src/", pathNot: "^packages/(dev/|server/src/store/pglite/)" },
    to: { path: ["^packages/dev/", ...npm("@electric-sql/pglite")] },
  },
  {
    name: "files-on-its-own",
    severity: "error",
    comment:
      "servers that read only text need no parsers, so only the module that finds their package imports it",
    from: {
      path: "^packages/[^/]+/src/",
      pathNot: "^packages/(files|server/src/text-extraction)/",
    },
    to: { path: ["^packages/files/", ...npm("file-type", "htmlparser2", "unpdf")] },
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
    comment: "dialects don't import each other; shared code is outside of them",
    from: { path: "^packages/protocol/src/dialects/([^/]+)/" },
    to: { path: "^packages/protocol/src/dialects/[^/]+/", pathNot: "^packages/protocol/src/dialects/$1/" },
  },
  {
    name: "decoders-apart",
    severity: "error",
    comment: "decoders don't import each other either",
    from: { path: "^packages/dialects/src/(blocks|tasks|responses)/" },
    to: {
      path: "^packages/dialects/src/(blocks|tasks|responses)/",
      pathNot: "^packages/dialects/src/$1/",
    },
  },
  {
    name: "src-not-to-test",
    severity: "error",
    comment: "published code never imports code of tests and scripts",
    from: { path: "^packages/[^/]+/src/" },
    to: {
      path: ["^packages/[^/]+/(test|scripts)/", "^(tests|bench|examples|scripts)/", "[.]test[.]tsx?$"],
    },
  },
  {
    name: "testkit-not-to-its-users",
    severity: "error",
    comment: "tests, chaos, bench and browser use the testkit; it imports none of them",
    from: { path: "^tests/kit/" },
    to: {
      path: ["^packages/[^/]+/(test|scripts)/", "^(tests/(?!kit/)|bench/|examples/|scripts/)"],
    },
  },
  {
    name: "src-not-to-undeclared",
    severity: "error",
    comment: "a published package must declare what it imports as a dependency",
    from: { path: "^packages/[^/]+/src/" },
    // A peer has to be installed for the tests as well, and then counts as both.
    to: {
      dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"],
      pathNot: npm(
        "react",
        "highlight.js",
        "temml",
        "stripe",
        "@aws-sdk/client-s3",
        "@aws-sdk/s3-request-presigner",
      ),
    },
  },
  {
    name: "resolvable",
    severity: "error",
    comment:
      "an import that resolves to nothing escapes every other rule. The apps have their own dependencies",
    from: { pathNot: "^tests/browser/(next|vite)-app/" },
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
    comment: "modules in a cycle at run time depend on the load order",
    from: {},
    to: { circular: true },
  },
];
