/**
 * `ToolSources` opens each tool source of a worker once, lists its tools and closes it.
 *
 * Invariant: a source that fails, or doesn't list its tools within 5 s, is reported and offers no tools. It never fails
 * a turn. Names for the model are unique and the same at every listing. The number of tools, descriptions and schemas
 * are bounded, because a source is untrusted.
 */
import { createHash } from "node:crypto";
import type { Json } from "@turnstream/protocol";
import { MAX_LABEL, truncateText } from "@turnstream/protocol/writer";
import { isJsonObject } from "../../util/json.ts";
import { withTimeout } from "../../util/with-timeout.ts";
import type { ToolSourceRegistry } from "../run/agent-turn.ts";
import type { PinnedTool } from "../run/journal-entries.ts";
import type { Agent } from "../define/agent.ts";
import type {
  ToolSourceConnection,
  ToolSourceContext,
  SourceTool,
  ToolSource,
} from "../define/tool-source.ts";

const LIST_MS = 5_000;
function failLate(): never {
  throw new Error(`no list of tools within ${LIST_MS} ms`);
}

const MAX_TOOLS = 1_000;
const MAX_DESCRIPTION = 8_000;
/** Size of one tool's schema as JSON. Every step sends all schemas to the model. */
const MAX_SCHEMA = 64_000;

export class ToolSources implements ToolSourceRegistry {
  readonly #host: ToolSourceContext;
  readonly #open = new Map<ToolSource, ToolSourceConnection>();
  /** The sources of the current agents. Running turns may still use others. */
  #current: ReadonlySet<ToolSource> = new Set();

  constructor(agents: readonly Agent[], host: ToolSourceContext) {
    this.#host = host;
    this.#openAll(agents);
  }

  /**
   * Opens the sources of new agents, and closes those that only the earlier agents use.
   * @param unused resolves when no turn uses the earlier agents
   */
  replace(agents: readonly Agent[], unused: Promise<void>): void {
    this.#openAll(agents);
    const earlier = [...this.#open.keys()].filter((source) => !this.#current.has(source));
    void this.#closeAfter(unused, earlier);
  }

  async #closeAfter(unused: Promise<void>, earlier: readonly ToolSource[]): Promise<void> {
    await unused;
    // Later agents may use one of them again.
    const unneeded = earlier.filter((source) => !this.#current.has(source));
    await Promise.all(unneeded.map((source) => this.#close(source)));
  }

  #openAll(agents: readonly Agent[]): void {
    this.#current = sourcesOf(agents);
    for (const source of this.#current)
      if (!this.#open.has(source)) this.#open.set(source, source.open(this.#host));
  }

  /** Returns the tools that the source offers, or null if it fails or times out. */
  async list(source: ToolSource): Promise<Readonly<Record<string, SourceTool>> | null> {
    try {
      const open = this.#open.get(source);
      if (open === undefined) throw new Error("the source was added after the worker had started");
      return await withTimeout(open.tools(), { ms: LIST_MS, onTimeout: failLate });
    } catch (error) {
      this.#host.onError(error, { during: `the tool source ${source.name}` });
      return null;
    }
  }

  /** Returns the tools of all sources of an agent, as they are written to the journal for its run. */
  async pin(agent: Agent, names: Iterable<string>): Promise<PinnedTool[]> {
    const taken = new Set(names);
    const lists = await Promise.all(agent.toolSources.map((source) => this.list(source)));
    return agent.toolSources.flatMap((source, n) => {
      const offered = Object.entries(lists[n] ?? {}).slice(0, MAX_TOOLS);
      const usable = offered.filter(([tool, { schema }]) => this.#isUsable(source, tool, schema));
      const tools = usable.map(([tool]) => tool);
      const given = uniqueToolNames(source.name, tools, taken);
      return usable.flatMap(([tool, { description: text, schema: input, ...shown }], at) => {
        const name = given[at];
        if (name === undefined || taken.has(name)) return [];
        taken.add(name);
        const description = truncateText(text, MAX_DESCRIPTION);
        return [{ name, description, input, source: { name: source.name, tool, ...shownTexts(shown) } }];
      });
    });
  }

  #isUsable(source: ToolSource, tool: string, schema: Json): boolean {
    const why =
      !isJsonObject(schema) || schema["type"] !== "object"
        ? "its input is not an object"
        : sizeOf(schema) > MAX_SCHEMA
          ? `the schema of its input has more than ${MAX_SCHEMA} characters`
          : null;
    if (why !== null)
      this.#host.onError(new Error(`left out: ${why}`), {
        during: `the tool ${tool} of the source ${source.name}`,
      });
    return why === null;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((source) => this.#close(source)));
  }

  async #close(source: ToolSource): Promise<void> {
    const open = this.#open.get(source);
    this.#open.delete(source);
    try {
      await open?.close();
    } catch (error) {
      this.#host.onError(error, { during: `closing the tool source ${source.name}` });
    }
  }
}

/** The journal and events have limits for these texts. */
function shownTexts({ label, server, title }: Pick<SourceTool, "label" | "server" | "title">) {
  return {
    label: truncateText(label, MAX_LABEL),
    ...(server === undefined ? {} : { server: truncateText(server, MAX_LABEL) }),
    ...(title === undefined ? {} : { title: truncateText(title, MAX_LABEL) }),
  };
}

function sizeOf(schema: Json): number {
  try {
    return JSON.stringify(schema).length;
  } catch {
    // The schema is nested too deep for JSON.
    return Infinity;
  }
}

function sourcesOf(agents: readonly Agent[]): Set<ToolSource> {
  const seen = new Set<Agent>();
  const sources = new Set<ToolSource>();
  const visit = (agent: Agent): void => {
    if (seen.has(agent)) return;
    seen.add(agent);
    for (const source of agent.toolSources) sources.add(source);
    for (const sub of Object.values(agent.subAgents)) visit(sub);
  };
  for (const agent of agents) visit(agent);
  return sources;
}

const MAX_NAME = 64;
const DIGITS = 8;

/**
 * Returns the names by which the model calls the tools of a source: valid, unique and the same at every listing. Pure.
 * @param tools the names that the source uses
 * @param taken names that other tools already have
 * @returns one name per tool, in the order of `tools`
 */
export function uniqueToolNames(
  source: string,
  tools: readonly string[],
  taken: ReadonlySet<string>,
): string[] {
  const plain = tools.map((tool) => `${source}_${tool.replaceAll(/[^\w-]/g, "_")}`);
  const counts = new Map<string, number>();
  for (const name of plain) counts.set(name, (counts.get(name) ?? 0) + 1);
  return plain.map((name, n) => {
    const tool = tools[n] ?? "";
    // If several names collide, the tool whose name needed no change keeps it, independent of the order of the list.
    const isAlone = counts.get(name) === 1 || name === `${source}_${tool}`;
    if (isAlone && name.length <= MAX_NAME && !taken.has(name)) return name;
    const digest = createHash("sha256").update(`${source}\n${tool}`).digest("hex").slice(0, DIGITS);
    return `${name.slice(0, MAX_NAME - DIGITS - 1)}_${digest}`;
  });
}
