/**
 * `AgentFile` imports the file with a developer's agents, and imports it again after a change, with every file that it
 * imports outside of node_modules.
 * Invariant: each load has a version of its own in the URLs of its modules, so Node evaluates them again. Packages are
 * loaded once. A file that can't be used throws a CommandError with the file and line, and `files` still has every file
 * whose change can correct it.
 */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { createRequire, registerHooks } from "node:module";
import { extname, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Agent, TurnstreamOptions } from "@turnstream/server";
import { CommandError } from "../cli-context.ts";

/** What the file exports: the options of `turnstream()`. Only `serve` requires `user`. */
export type AppDefinition = Omit<TurnstreamOptions, "user"> & Partial<Pick<TurnstreamOptions, "user">>;

const DEFAULT_FILES = ["agent.ts", "agent.js", "src/agent.ts", "src/agent.js"];
const VERSION = "turnstream-version";
const EXPECTED =
  "an agent, a list of agents, or the options of turnstream(), such as `export default defineAgent({ … })`";

const { cache } = createRequire(import.meta.url);

export class AgentFile {
  /** The path as the developer writes it, relative to the current folder. */
  readonly name: string;
  readonly #folder: string;
  readonly #path: string;
  readonly #files = new Set<string>();
  #version = 0;

  private constructor(folder: string, path: string) {
    this.#folder = folder;
    this.#path = realpathSync(path);
    this.name = relative(folder, path);
    this.#files.add(this.#path);
    // They stay, because a module can import another one at any time.
    registerHooks({
      resolve: (specifier, context, next) => {
        if (!this.#isOwn(context.parentURL)) return next(specifier, context);
        return this.#resolve(specifier, versionOf(context.parentURL), () => next(specifier, context));
      },
      load: (url, context, next) => {
        const format = versionOf(url) === null ? null : findModuleFormat(url);
        return next(url, format === null ? context : { ...context, format });
      },
    });
  }

  /**
   * @param file the path of the file, or undefined for the first default that exists
   * @throws CommandError if there is no such file
   */
  static find(folder: string, file: string | undefined): AgentFile {
    const candidates = file === undefined ? DEFAULT_FILES : [file];
    const found = candidates.map((name) => resolve(folder, name)).find((path) => existsSync(path));
    if (found !== undefined) return new AgentFile(realpathSync(folder), found);
    throw new CommandError(
      file === undefined
        ? `There is no ${DEFAULT_FILES.join(", ")}. Create one, or name the file with your agents.`
        : `There is no file ${file}.`,
    );
  }

  /** The files whose change needs another load. */
  get files(): ReadonlySet<string> {
    return this.#files;
  }

  /** @throws CommandError with the file and line */
  async load(): Promise<AppDefinition> {
    const version = String(++this.#version);
    // Node finds CommonJS modules by their path.
    for (const file of this.#files) delete cache[file];
    try {
      const url = withVersion(pathToFileURL(this.#path).href, version);
      const { default: exported } = (await import(url)) as { readonly default?: unknown };
      return readDefinition(exported, this.name);
    } catch (error) {
      throw error instanceof CommandError ? error : new CommandError(this.#describe(error));
    }
  }

  #isOwn(url: string | undefined): boolean {
    return url?.startsWith("file:") === true && this.#files.has(fileURLToPath(url));
  }

  /** A module gets the version of the module that imports it. CommonJS modules have none. */
  #resolve<Resolved extends { readonly url: string }>(
    specifier: string,
    version: string | null,
    next: () => Resolved,
  ): Resolved {
    try {
      const resolved = next();
      const { url } = resolved;
      if (!url.startsWith("file:") || url.includes("/node_modules/") || specifier.startsWith("@turnstream/"))
        return resolved;
      this.#files.add(fileURLToPath(url));
      return version === null ? resolved : { ...resolved, url: withVersion(url, version) };
    } catch (error) {
      // The developer may create the missing file next.
      const { url } = error as { readonly url?: unknown };
      if (typeof url === "string" && url.startsWith("file:")) this.#files.add(fileURLToPath(url));
      throw error;
    }
  }

  /** Returns the first line of the error after its file and line. */
  #describe(error: unknown): string {
    const { message, stack = "" } = error instanceof Error ? error : new Error(String(error));
    const [first = ""] = message.replaceAll(`${this.#folder}/`, "").split("\n");
    const text = /[.!?]$/.test(first) ? first : `${first}.`;
    for (const [, at = "", line = ""] of stack.matchAll(LOCATION)) {
      const path = at.startsWith("file:") ? fileURLToPath(at) : at;
      if (this.#files.has(path)) return `${relative(this.#folder, path)}:${line}: ${text}`;
    }
    return `${this.name}: ${text}`;
  }
}

/** A place in a stack, such as `file:///app/agent.ts?turnstream-version=2:7:11` or `/app/agent.ts:7`. */
const LOCATION = /((?:file:\/\/)?\/[^\s()?]+?)(?:\?[^\s():]*)?:(\d+)(?=[:\s)]|$)/g;

function withVersion(url: string, version: string): string {
  const versioned = new URL(url);
  versioned.searchParams.set(VERSION, version);
  return versioned.href;
}

function versionOf(url = ""): string | null {
  return URL.parse(url)?.searchParams.get(VERSION) ?? null;
}

/**
 * Returns the format of a file with `import` or `export`, and null for other files. A new package.json often has
 * the type "commonjs", or no type, although the files are modules.
 */
function findModuleFormat(url: string): "module" | "module-typescript" | null {
  const path = fileURLToPath(url);
  const ending = extname(path);
  if (ending !== ".ts" && ending !== ".js") return null;
  if (!/^\s*(?:import\s*[\w{*"']|export\s)/m.test(readFileSync(path, "utf8"))) return null;
  return ending === ".ts" ? "module-typescript" : "module";
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
