/** Tests `checkDirection` with violations of the dependency rules in a temporary tree. Each must be reported. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { afterAll, expect, test } from "vitest";

import { layers } from "../.dependency-cruiser.mjs";
import { checkDirection } from "./check-direction.ts";
import { root } from "./run-command.ts";

type Tree = Record<string, string>;

const trash: string[] = [];

afterAll(() => {
  for (const folder of trash) rmSync(folder, { recursive: true });
});

function versions(names: string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, "1.0.0"]));
}

function workspace(name: string, dependencies: string[], devDependencies: string[] = []): Tree {
  const manifest = {
    name: `@turnstream/${name}`,
    exports: { ".": { "@turnstream/source": "./src/index.ts" } },
    dependencies: versions(dependencies),
    devDependencies: versions(devDependencies),
  };
  return { [`packages/${name}/package.json`]: JSON.stringify(manifest) };
}

function library(name: string): Tree {
  const folder = `node_modules/${name}`;
  const manifest = { name, type: "module", exports: "./index.js" };
  return {
    [`${folder}/package.json`]: JSON.stringify(manifest),
    [`${folder}/index.js`]: "export const z = 1;",
  };
}

const clean: Tree = {
  ...library("zod"),
  ...library("eventsource-parser"),
  ...library("vitest"),
  ...workspace("protocol", ["zod", "eventsource-parser"], ["vitest"]),
  "packages/protocol/src/index.ts": `
    import type { SessionEvent } from "./events/session.ts";
    export type { SessionEvent };
    export { fold } from "./fold.ts";
    export { parse } from "./sse.ts";`,
  "packages/protocol/src/fold.ts": `
    import type { SessionEvent } from "./events/session.ts";
    export const fold = (event: SessionEvent) => event;`,
  "packages/protocol/src/sse.ts": `export { z as parse } from "eventsource-parser";`,
  "packages/protocol/src/schema.ts": `export { session } from "./events/session.ts";`,
  "packages/protocol/src/events/session.ts": `
    import { z } from "zod";
    export const session = z;
    export type SessionEvent = typeof session;`,
  "packages/protocol/src/dialects/blocks/frames.ts": `export { z as frames } from "zod";`,
  "packages/protocol/src/commands/socket.ts": `export { z as commands } from "zod";`,
  "packages/protocol/test/fold.test.ts": `import { z } from "vitest"; import "../src/index.ts"; z;`,
  ...workspace("server", ["@turnstream/protocol"]),
  "packages/server/src/index.ts": `import "./runtime/turn.ts"; import "./gateway/http.ts";`,
  "packages/server/src/runtime/turn.ts": `export { log } from "../log/port.ts";`,
  "packages/server/src/gateway/http.ts": `export { log } from "../log/port.ts";`,
  "packages/server/src/log/port.ts": `export { fold as log } from "@turnstream/protocol";`,
  "packages/client/src/index.ts": `export { fold } from "@turnstream/protocol";`,
  "packages/react/src/index.ts": `export { fold } from "../../client/src/index.ts";`,
  "packages/studio/src/index.ts": `export { fold } from "../../react/src/index.ts";`,
  "conformance/requirements.ts": `export { fold } from "@turnstream/protocol";`,
  "testkit/servers/start-redis.ts": `export const startRedis = 1;`,
};

async function check(tree: Tree) {
  const folder = mkdtempSync(join(tmpdir(), "direction-"));
  trash.push(folder);
  for (const [path, text] of Object.entries(tree)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  mkdirSync(join(folder, "node_modules/@turnstream"), { recursive: true });
  symlinkSync("../../packages/protocol", join(folder, "node_modules/@turnstream/protocol"));
  return await checkDirection(folder);
}

test("does not report a clean tree", async () => {
  const { modules, violations } = await check(clean);
  expect(violations).toEqual([]);
  expect(modules).toBe(
    Object.keys(clean).filter((path) => /^(packages|conformance|testkit)\/.*[.]ts$/.test(path)).length,
  );
});

test.each(Object.entries(layers))("the layers of %s match its folders", (base, rows) => {
  const folders = readdirSync(join(root, base), { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  );
  const names = folders.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(rows.flat()));
  if (base !== "packages/server/src/store") expect(names.toSorted()).toEqual(rows.flat().toSorted());
});

test("counts no modules in an empty tree", async () => {
  expect(await check({ "packages/readme.txt": "" })).toEqual({ modules: 0, violations: [] });
});

const breaches: [rule: string, planted: Tree][] = [
  ["protocol-direction", { "packages/protocol/src/x.ts": `import "../../server/src/index.ts";` }],
  [
    "protocol-direction",
    { "packages/protocol/src/x.ts": `import type {} from "../../client/src/index.ts";` },
  ],
  ["server-direction", { "packages/server/src/x.ts": `import "../../client/src/index.ts";` }],
  ["client-direction", { "packages/client/src/x.ts": `import "../../react/src/index.ts";` }],
  ["react-direction", { "packages/react/src/x.ts": `import "../../studio/src/index.ts";` }],
  ["studio-direction", { "packages/studio/src/x.ts": `import "../../server/src/index.ts";` }],
  ["runtime-and-gateway-apart", { "packages/server/src/runtime/x.ts": `import "../gateway/http.ts";` }],
  [
    "entries-at-the-top",
    {
      "packages/server/src/runtime/x.ts": `import "../shared.ts";`,
      "packages/server/src/shared.ts": `import "./gateway/http.ts";`,
    },
  ],
  ["gateway-runs-nothing", { "packages/server/src/gateway/x.ts": `import "../runtime/turn.ts";` }],
  [
    "packages/server/src/log-downwards",
    { "packages/server/src/log/x.ts": `import type {} from "../runtime/turn.ts";` },
  ],
  [
    "packages/server/src/session-downwards",
    { "packages/server/src/session/x.ts": `import "../runtime/turn.ts";` },
  ],
  [
    "packages/server/src/gateway/connection-downwards",
    {
      "packages/server/src/gateway/connection/x.ts": `import type {} from "../feed/x.ts";`,
      "packages/server/src/gateway/feed/x.ts": "",
    },
  ],
  [
    "log-and-store-apart",
    { "packages/server/src/log/x.ts": `import "../store/x.ts";`, "packages/server/src/store/x.ts": "" },
  ],
  [
    "no-cycles-of-types",
    {
      "packages/server/src/x.ts": `import type { Y } from "./y.ts"; export type X = Y;`,
      "packages/server/src/y.ts": `import type { X } from "./x.ts"; export type Y = X[];`,
    },
  ],
  [
    "mcp-on-its-own",
    { "packages/server/src/runtime/x.ts": `import "../mcp/x.ts";`, "packages/server/src/mcp/x.ts": "" },
  ],
  ["mcp-uses-little", { "packages/server/src/mcp/x.ts": `import "../runtime/turn.ts";` }],
  ["foreign-bytes-apart", { "packages/server/src/safe-fetch/x.ts": `import "../log/port.ts";` }],
  [
    "foreign-bytes-apart",
    { "packages/server/src/safe-fetch/x.ts": `import type {} from "@turnstream/protocol";` },
  ],
  ["protocol-imports-little", { "packages/protocol/src/x.ts": `import "node:fs";` }],
  ["protocol-imports-little", { "packages/protocol/src/x.ts": `import "vitest";` }],
  [
    "dialects-apart",
    {
      "packages/protocol/src/dialects/tasks/encode.ts": `export * from "../blocks/frames.ts";`,
    },
  ],
  ["src-not-to-undeclared", { "packages/protocol/src/x.ts": `import "vitest";` }],
  ["src-not-to-undeclared", { "packages/server/src/x.ts": `import "zod";` }],
  ["src-not-to-test", { "packages/protocol/src/x.ts": `import "../test/fold.test.ts";` }],
  ["src-not-to-test", { "packages/server/src/x.ts": `import "../../../conformance/requirements.ts";` }],
  ["src-not-to-test", { "packages/server/src/x.ts": `import "../../../testkit/servers/start-redis.ts";` }],
  ["testkit-not-to-its-users", { "testkit/x.ts": `import "../conformance/requirements.ts";` }],
  ["resolvable", { "conformance/x.ts": `import "./missing.ts";` }],
  ["zod-stays-in-schemas", { "packages/protocol/src/x.ts": `export { z } from "zod";` }],
  ["zod-stays-in-schemas", { "packages/protocol/src/dialects/blocks/encode.ts": `export { z } from "zod";` }],
  [
    "protocol-root-without-zod",
    {
      "packages/protocol/src/index.ts": `export { x } from "./x.ts";`,
      "packages/protocol/src/x.ts": `export { session as x } from "./events/session.ts";`,
    },
  ],
  [
    "protocol-root-without-zod",
    { "packages/protocol/src/index.ts": `import { SessionEvent } from "./events/session.ts";` },
  ],
  [
    "no-cycles",
    {
      "packages/protocol/src/x.ts": `export { y } from "./y.ts";`,
      "packages/protocol/src/y.ts": `import { x } from "./x.ts"; export const y = () => x;`,
    },
  ],
];

const cases = breaches.map(([rule, planted]) => ({
  rule,
  planted,
  source: Object.values(planted).join(" "),
}));

test.each(cases)("$rule reports $source", async ({ rule, planted }) => {
  const { violations } = await check({ ...clean, ...planted });
  expect(violations.map((line) => line.slice(0, line.indexOf(":")))).toContain(rule);
});
