/** What a verifier has to say: how much it checked, and what is not as the vector says. */

export class Report {
  checks = 0;
  readonly problems: string[] = [];
  private readonly stopAtFirst: boolean;

  /** @param stopAtFirst whether one problem is enough: it is thrown, and `attempt` takes it down */
  constructor(stopAtFirst = false) {
    this.stopAtFirst = stopAtFirst;
  }

  same(what: string, actual: unknown, expected: unknown): void {
    this.checks++;
    const where = difference(actual, expected);
    if (where === null) return;
    if (this.stopAtFirst) throw new Error(`${what}${where}`);
    this.problems.push(`${what}${where}`);
  }

  /** Runs a step that a damaged vector may make throw, and takes down why. */
  attempt(what: string, step: () => void): void {
    try {
      step();
    } catch (error) {
      this.problems.push(`${what}: ${String(error)}`);
    }
  }
}

/** Where two plain values first differ, in words; null when they are the same. The order of keys is nothing. */
function difference(actual: unknown, expected: unknown, path = ""): string | null {
  if (Object.is(actual, expected)) return null;
  const message = `${path}: ${JSON.stringify(actual)?.slice(0, 200)} and not ${JSON.stringify(expected)?.slice(0, 200)}`;
  if (!isContainer(actual) || !isContainer(expected)) return message;
  if (Array.isArray(actual) !== Array.isArray(expected)) return message;
  // A field that is undefined is a field that JSON leaves out.
  const keys = new Set([...keysOf(actual), ...keysOf(expected)]);
  for (const key of keys) {
    if (!Object.hasOwn(actual, key) || !Object.hasOwn(expected, key))
      return `${path}/${key}: only on one side`;
    const found = difference(actual[key], expected[key], `${path}/${key}`);
    if (found !== null) return found;
  }
  return null;
}

type Container = Readonly<Record<string, unknown>>;

function isContainer(value: unknown): value is Container {
  return typeof value === "object" && value !== null;
}

function keysOf(value: Container): string[] {
  return Object.keys(value).filter((key) => value[key] !== undefined);
}
