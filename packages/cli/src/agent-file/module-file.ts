/**
 * `ModuleFile` imports a module of a developer, and imports it again after a change, with every file that it imports
 * outside of node_modules.
 * Invariant: each import has a version of its own in the URLs of its modules, so Node evaluates them again. Packages are
 * loaded once. A file that can't be used throws a CommandError with the file and line, and `files` still has every file
 * whose change can correct it.
 */
import { readFileSync, realpathSync } from "node:fs";
import { createRequire, registerHooks } from "node:module";
import { extname, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { CommandError } from "../cli-context.ts";

const VERSION = "turnstream-version";

const { cache } = createRequire(import.meta.url);

export class ModuleFile {
  /** The path as the developer writes it, relative to the current folder. */
  readonly name: string;
  readonly #folder: string;
  readonly #path: string;
  readonly #files = new Set<string>();
  #version = 0;

  /** @param path an existing file */
  constructor(folder: string, path: string) {
    this.#folder = realpathSync(folder);
    this.#path = realpathSync(path);
    this.name = relative(this.#folder, path);
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

  /** The files whose change needs another import. */
  get files(): ReadonlySet<string> {
    return this.#files;
  }

  /** Returns what it exports. @throws CommandError with the file and line */
  async import(): Promise<Readonly<Record<string, unknown>>> {
    const version = String(++this.#version);
    // Node finds CommonJS modules by their path.
    for (const file of this.#files) delete cache[file];
    try {
      return (await import(withVersion(pathToFileURL(this.#path).href, version))) as Record<string, unknown>;
    } catch (error) {
      throw new CommandError(this.#describe(error));
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
