/** Tests `checkDirection` with violations of the dependency rules in a temporary tree. Each must be reported. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { afterAll, expect, test } from "vitest";

import { checkDirection } from "./check-direction.ts";

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
  "packages/server/src/index.ts": `import "./engine/turn.ts"; import "./gateway/http.ts";`,
  "packages/server/src/engine/turn.ts": `export { log } from "../log/port.ts";`,
  "packages/server/src/gateway/http.ts": `export { log } from "../log/port.ts";`,
  "packages/server/src/log/port.ts": `export { fold as log } from "@turnstream/protocol";`,
  "packages/client/src/index.ts": `export { fold } from "@turnstream/protocol";`,
  "packages/react/src/index.ts": `export { fold } from "../../client/src/index.ts";`,
  "packages/studio/src/index.ts": `export { fold } from "../../react/src/index.ts";`,
  "tests/conformance/stories.ts": `export { fold } from "@turnstream/protocol";`,
  "tests/kit/servers/start-redis.ts": `export const startRedis = 1;`,
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
  expect(modules).toBe(Object.keys(clean).filter((path) => /^(packages|tests)\/.*[.]ts$/.test(path)).length);
});

test("counts no modules in an empty tree", async () => {
  expect(await check({ "packages/readme.txt": "" })).toEqual({ modules: 0, violations: [] });
});

test.each<[rule: string, planted: Tree]>([
  [
    "protocol-direction",
    { "packages/protocol/src/x.ts": `import type {} from "../../client/src/index.ts";` },
  ],
  ["worker-and-gateway-apart", { "packages/server/src/engine/x.ts": `import "../gateway/http.ts";` }],
  [
    "engine-runs-any-body",
    { "packages/server/src/engine/x.ts": `import "../agent/y.ts";`, "packages/server/src/agent/y.ts": "" },
  ],
  [
    "no-cycles",
    {
      "packages/protocol/src/x.ts": `export { y } from "./y.ts";`,
      "packages/protocol/src/y.ts": `import { x } from "./x.ts"; export const y = () => x;`,
    },
  ],
])("reports a violation of %s", async (rule, planted) => {
  const { violations } = await check({ ...clean, ...planted });
  expect(violations.map((line) => line.slice(0, line.indexOf(":")))).toContain(rule);
});
