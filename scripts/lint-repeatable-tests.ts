/**
 * Lint rules for tests that run on each push, and for what they share: their result must not depend on a clock, on CPU
 * time, on memory or on chance. Tests that measure are `x.limits.test.ts`; tests that wait or draw new cases are
 * `x.nightly.test.ts`.
 */

interface Node {
  readonly type: string;
  readonly name?: string;
  readonly value?: unknown;
  readonly object?: Node;
  readonly property?: Node;
  readonly callee?: Node;
  readonly key?: Node;
  readonly local?: Node;
  readonly imported?: Node;
  readonly source?: Node;
  readonly id?: Node;
  readonly init?: Node;
  readonly properties?: readonly Node[];
  readonly specifiers?: readonly Node[];
  readonly arguments?: readonly Node[];
}

interface Context {
  report(problem: { readonly node: Node; readonly message: string }): void;
}

const CLOCKS = {
  performance: ["now"],
  process: ["cpuUsage", "threadCpuUsage", "hrtime", "memoryUsage", "resourceUsage", "uptime"],
};
const GLOBALS = ["globalThis", "global", "window"];
const MODULES = ["node:process", "node:perf_hooks", "process", "perf_hooks"];
const SLEEPS = ["sleep", "pause", "delay", "wait", "setTimeout"];
const RANDOM = ["randomInt", "randomBytes"];
const TESTS = ["test", "it", "describe"];

function isPause(node: Node | undefined): boolean {
  return node?.type === "Literal" && typeof node.value === "number" && node.value > 0;
}

/** Returns the name of a property, written `a.b` or `a["b"]`. */
function nameOf(node: Node | undefined): string {
  return node?.name ?? (typeof node?.value === "string" ? node.value : "");
}

/** Returns the name of an object, also of `globalThis.process`. */
function objectOf(node: Node | undefined): string {
  return GLOBALS.includes(node?.object?.name ?? "") ? nameOf(node?.property) : (node?.name ?? "");
}

/** Returns `test` for `test(…)`, `test.each(…)(…)` and `test.runIf(…)(…)`. */
function rootOf(node: Node | undefined): string {
  return node?.name ?? (node === undefined ? "" : rootOf(node.object ?? node.callee));
}

function explain(object: string, property: string): string {
  return `\`${object}.${property}\` makes this test depend on the machine or on chance. Use a fake clock or a seed, or move the test to a .limits.test.ts or .nightly.test.ts file.`;
}

/** Reports uses of these members, also of their aliases. */
function forbid(context: Context, members: Readonly<Record<string, readonly string[]>>) {
  const report = (node: Node, object: string, property = "*"): void =>
    context.report({ node, message: explain(object, property) });
  return {
    ImportDeclaration({ source, specifiers = [] }: Node) {
      if (!MODULES.includes(String(source?.value))) return;
      for (const specifier of specifiers) {
        const name = nameOf(specifier.imported);
        const object = Object.keys(members).find((one) => members[one]?.includes(name) === true);
        if (object !== undefined) report(specifier, object, name);
        else if (members[name] !== undefined && name !== nameOf(specifier.local)) report(specifier, name);
      }
    },
    VariableDeclarator({ id, init }: Node) {
      const object = objectOf(init);
      if (init !== undefined && id?.type === "Identifier" && members[object] !== undefined)
        report(init, object);
      for (const each of id?.type === "ObjectPattern" ? (id.properties ?? []) : [])
        if (members[object]?.includes(nameOf(each.key)) === true) report(each, object, nameOf(each.key));
    },
    MemberExpression(node: Node) {
      const [object, property] = [objectOf(node.object), nameOf(node.property)];
      if (members[object]?.includes(property) === true) report(node, object, property);
    },
  };
}

/** For test files. */
const repeatable = {
  create: (context: Context) => {
    /** Also the names under which the file imports `setTimeout` of `node:timers/promises`. */
    const sleeps = new Set(SLEEPS);
    const clocks = forbid(context, { ...CLOCKS, Date: ["now"], Math: ["random"] });
    return {
      ...clocks,
      ImportDeclaration(node: Node) {
        clocks.ImportDeclaration(node);
        if (node.source?.value !== "node:timers/promises") return;
        for (const { imported, local } of node.specifiers ?? [])
          if (nameOf(imported) === "setTimeout") sleeps.add(nameOf(local));
      },
      CallExpression(node: Node) {
        const name = node.callee?.name ?? objectOf(node.callee);
        if (sleeps.has(name) && node.arguments?.some(isPause) === true)
          context.report({ node, message: `\`${name}\` waits for a fixed time. Wait for an event instead.` });
        if (RANDOM.includes(name))
          context.report({
            node,
            message: `\`${name}\` is another value in every run. Use \`seededRandom\`.`,
          });
        if (name === "Date" && node.arguments?.length === 0)
          context.report({ node, message: "`Date()` reads the clock. Pass the time in." });
        if (!TESTS.includes(rootOf(node.callee))) return;
        for (const option of node.arguments?.flatMap(({ properties }) => properties ?? []) ?? [])
          if (["retry", "repeats"].includes(nameOf(option.key)))
            context.report({
              node: option,
              message: "A second try hides a race. Order the steps of the test.",
            });
      },
      NewExpression(node: Node) {
        if (node.callee?.name === "Date" && node.arguments?.length === 0)
          context.report({ node, message: "`new Date()` reads the clock. Pass the time in." });
      },
    };
  },
};

/** For everything beside tests. It may wait, but tests must not assert on time through it. */
const noClock = { create: (context: Context) => forbid(context, CLOCKS) };

// oxlint takes a plugin as the default export.
// oxlint-disable-next-line import/no-default-export
export default { meta: { name: "tests" }, rules: { repeatable, "no-clock": noClock } };
