/** `Report` counts the checks of a verifier and collects the differences from the vector. */

export class Report {
  checks = 0;
  readonly problems: string[] = [];
  private readonly stopAtFirst: boolean;

  /** @param stopAtFirst throws the first problem instead of collecting it; `attempt` records it */
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

  /** Runs a step that can throw on a damaged vector, and records the error. */
  attempt(what: string, step: () => void): void {
    try {
      step();
    } catch (error) {
      this.problems.push(`${what}: ${String(error)}`);
    }
  }
}

/** Describes the first difference between two plain values, or returns null. The order of keys has no meaning. */
function difference(actual: unknown, expected: unknown, path = ""): string | null {
  if (Object.is(actual, expected)) return null;
  const message = `${path}: ${JSON.stringify(actual)?.slice(0, 200)} and not ${JSON.stringify(expected)?.slice(0, 200)}`;
  if (!isContainer(actual) || !isContainer(expected)) return message;
  if (Array.isArray(actual) !== Array.isArray(expected)) return message;
  // JSON leaves out undefined fields.
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
