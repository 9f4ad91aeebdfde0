/**
 * A lint rule for tests that run on each push: their result must not depend on a clock, on CPU time, on memory or on
 * chance. Tests that measure are `x.limits.test.ts`; tests that wait or draw new cases are `x.nightly.test.ts`.
 */

interface Node {
  readonly type: string;
  readonly name?: string;
  readonly value?: unknown;
  readonly object?: Node;
  readonly property?: Node;
  readonly callee?: Node;
  readonly key?: Node;
  readonly arguments?: readonly Node[];
}

interface Context {
  report(problem: { readonly node: Node; readonly message: string }): void;
}

const MEASURES: Readonly<Record<string, readonly string[]>> = {
  performance: ["now"],
  process: ["cpuUsage", "threadCpuUsage", "hrtime", "memoryUsage"],
  Date: ["now"],
  Math: ["random"],
};
const SLEEPS = ["sleep", "pause", "delay", "setTimeout"];
const RANDOM = ["randomInt", "randomBytes"];

function isPause(node: Node | undefined): boolean {
  return node?.type === "Literal" && typeof node.value === "number" && node.value > 0;
}

const repeatable = {
  create: (context: Context) => ({
    MemberExpression(node: Node) {
      const { object, property } = node;
      if (MEASURES[object?.name ?? ""]?.includes(property?.name ?? "") !== true) return;
      const message = `\`${object?.name}.${property?.name}\` makes this test depend on the machine or on chance. Use a fake clock or a seed, or move the test to a .limits.test.ts or .nightly.test.ts file.`;
      context.report({ node, message });
    },
    CallExpression(node: Node) {
      const name = node.callee?.name ?? "";
      if (SLEEPS.includes(name) && node.arguments?.some(isPause) === true)
        context.report({ node, message: `\`${name}\` waits for a fixed time. Wait for an event instead.` });
      if (RANDOM.includes(name))
        context.report({ node, message: `\`${name}\` is another value in every run. Use \`seededRandom\`.` });
      if (name === "Date" && node.arguments?.length === 0)
        context.report({ node, message: "`Date()` reads the clock. Pass the time in." });
    },
    NewExpression(node: Node) {
      if (node.callee?.name === "Date" && node.arguments?.length === 0)
        context.report({ node, message: "`new Date()` reads the clock. Pass the time in." });
    },
    Property(node: Node) {
      if (node.key?.name !== "retry" || typeof (node as { value?: Node }).value?.value !== "number") return;
      context.report({ node, message: "A test that needs a second try hides a race. Order its steps." });
    },
  }),
};

// oxlint takes a plugin as the default export.
// oxlint-disable-next-line import/no-default-export
export default { meta: { name: "tests" }, rules: { repeatable } };
