/** `AgentFile` imports the file with a developer's agents, and imports it again after a change. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Agent, TurnstreamOptions } from "@turnstream/server";
import { CommandError } from "../cli-context.ts";
import { ModuleFile } from "./module-file.ts";

/** What the file exports: the options of `turnstream()`. Only `serve` requires `user`. */
export type AppDefinition = Omit<TurnstreamOptions, "user"> & Partial<Pick<TurnstreamOptions, "user">>;

const DEFAULT_FILES = ["agent.ts", "agent.js", "src/agent.ts", "src/agent.js"];
const EXPECTED =
  "an agent, a list of agents, or the options of turnstream(), such as `export default defineAgent({ … })`";

export class AgentFile {
  readonly #module: ModuleFile;

  private constructor(module: ModuleFile) {
    this.#module = module;
  }

  /**
   * @param file the path of the file, or undefined for the first default that exists
   * @throws CommandError if there is no such file
   */
  static find(folder: string, file: string | undefined): AgentFile {
    const candidates = file === undefined ? DEFAULT_FILES : [file];
    const found = candidates.map((name) => resolve(folder, name)).find((path) => existsSync(path));
    if (found !== undefined) return new AgentFile(new ModuleFile(folder, found));
    throw new CommandError(
      file === undefined
        ? `There is no ${DEFAULT_FILES.join(", ")}. Create one, or name the file with your agents.`
        : `There is no file ${file}.`,
    );
  }

  /** The path as the developer writes it, relative to the current folder. */
  get name(): string {
    return this.#module.name;
  }

  /** The files whose change needs another load. */
  get files(): ReadonlySet<string> {
    return this.#module.files;
  }

  /** @throws CommandError with the file and line */
  async load(): Promise<AppDefinition> {
    return readDefinition((await this.#module.import())["default"], this.name);
  }
}

/** @throws CommandError if the default export is something else */
function readDefinition(exported: unknown, name: string): AppDefinition {
  const definition = Array.isArray(exported) || isAgent(exported) ? { agents: [exported].flat() } : exported;
  if (!isObject(definition) || !Array.isArray(definition["agents"]))
    throw new CommandError(`${name}: the default export must be ${EXPECTED}.`);
  const agents: readonly unknown[] = definition["agents"];
  const wrong = agents.findIndex((agent) => !isAgent(agent));
  if (wrong >= 0)
    throw new CommandError(`${name}: agent ${wrong + 1} must be made with defineAgent or defineStreamAgent.`);
  if (agents.length === 0) throw new CommandError(`${name}: the list of agents is empty.`);
  return definition as unknown as AppDefinition;
}

function isAgent(value: unknown): value is Agent {
  // Only the functions that define agents fill in `limits` and `schemas`.
  return isObject(value) && typeof value["name"] === "string" && "limits" in value && "schemas" in value;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
