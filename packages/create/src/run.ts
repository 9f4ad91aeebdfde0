/**
 * `run` parses the arguments, asks for what is missing, creates the app, and prints the next commands.
 * Invariant: it asks only in a terminal. Without one, everything is an argument, and a missing one is an error that
 * names it. The exit code is 0, 1 for a failure or a cancelled question, or 2 for invalid arguments.
 */
import { readFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import { Command, CommanderError, Option } from "commander";
import { type Answers, ask, CancelledError, type Terminal } from "./ask.ts";
import { MODELS, type ModelName, TEMPLATES, type TemplateName } from "./choices.ts";
import { createProject, listContent } from "./create-project.ts";

export interface CreateContext {
  readonly cwd: string;
  /** The version of Node, such as "24.1.0". */
  readonly nodeVersion: string;
  /** The program that runs this command, such as "npm" or "pnpm". */
  readonly packageManager: string;
  /** Asks the questions; null if the command runs without a terminal. */
  readonly terminal: Terminal | null;
  /** The width of the terminal; null if there is none. */
  readonly columns: number | null;
  out(text: string): void;
  err(text: string): void;
}

const FAILED = 1;
const MISUSED = 2;

/** The arguments are invalid: exit code 2. */
class UsageError extends Error {}

interface Manifest {
  readonly version: string;
  readonly engines: { readonly node: string };
}
const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as Manifest;

/** @returns the exit code */
export async function run(args: readonly string[], context: CreateContext): Promise<number> {
  const program = createProgram(context);
  try {
    requireNode(context.nodeVersion);
    program.parse(args, { from: "user" });
    await create(readAnswers(program), context);
    return 0;
  } catch (error) {
    if (error instanceof CancelledError) return FAILED;
    // Commander has already printed the help, the version or the error.
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0;
      if (error.code === "commander.excessArguments") context.err(`${AFTER_DASHES}\n`);
      return MISUSED;
    }
    context.err(`create-turnstream: ${error instanceof Error ? error.message : String(error)}\n`);
    return error instanceof UsageError ? MISUSED : FAILED;
  }
}

const EXAMPLES = `
Examples:
  npm create turnstream
  npm create turnstream my-app -- --template next --model gateway
  npm create turnstream . -- --template vite --model scripted`;

/** Without the dashes, npm reads the options itself and passes only their values. */
const AFTER_DASHES =
  "npm passes only the options after `--`: npm create turnstream my-app -- --template vite --model gateway";

function createProgram(context: CreateContext): Command {
  return new Command("create-turnstream")
    .description("Creates an app with an agent and a chat page. Asks for what is not given, in a terminal.")
    .usage("[folder] [--template NAME] [--model NAME]")
    .argument("[folder]", "the folder of the new app, which must be missing or empty")
    .addOption(new Option("--template <name>", "the framework").choices(Object.keys(TEMPLATES)))
    .addOption(new Option("--model <name>", "the provider of the model").choices(Object.keys(MODELS)))
    .version(manifest.version, "--version", "print the version")
    .helpOption("-h, --help", "print this help")
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.out(text),
      writeErr: (text) => context.err(text),
      outputError: (text, write) => write(text.replace(/^error: /, "create-turnstream: ")),
      getOutHelpWidth: () => context.columns ?? 100,
    })
    .addHelpText("after", EXAMPLES);
}

/** An older Node installs the app, and then can't run its TypeScript files. */
function requireNode(version: string): void {
  const required = manifest.engines.node.replace(/^>=/, "");
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [minMajor = 0, minMinor = 0] = required.split(".").map(Number);
  if (major > minMajor || (major === minMajor && minor >= minMinor)) return;
  throw new Error(`The app needs Node ${required} or newer, and this is ${version}. Install a newer Node.`);
}

function readAnswers(program: Command): Partial<Answers> {
  const { template, model } = program.opts<{ template?: TemplateName; model?: ModelName }>();
  const [folder] = program.args;
  return {
    ...(folder !== undefined && { folder }),
    ...(template !== undefined && { template }),
    ...(model !== undefined && { model }),
  };
}

async function create(given: Partial<Answers>, context: CreateContext): Promise<void> {
  const findObstacle = (folder: string) => describeContent(resolve(context.cwd, folder));
  const refuse = (folder: string): void => {
    const obstacle = findObstacle(folder);
    if (obstacle !== undefined) throw new Error(obstacle);
  };
  if (given.folder !== undefined) refuse(given.folder);
  const answers =
    context.terminal === null ? requireAll(given) : await ask(given, context.terminal, findObstacle);
  refuse(answers.folder);
  const folder = resolve(context.cwd, answers.folder);
  createProject({ ...answers, folder, version: manifest.version });
  context.out(describeNextSteps(answers, relative(context.cwd, folder), context.packageManager));
}

function requireAll({ folder, template, model }: Partial<Answers>): Answers {
  if (folder !== undefined && template !== undefined && model !== undefined)
    return { folder, template, model };
  const missing = [
    ...(folder === undefined ? ["the folder"] : []),
    ...(template === undefined ? [`--template (${Object.keys(TEMPLATES).join(", ")})`] : []),
    ...(model === undefined ? [`--model (${Object.keys(MODELS).join(", ")})`] : []),
  ];
  throw new UsageError(
    `Without a terminal, everything must be given. Add ${missing.join(" and ")}.\nExample: npm create turnstream my-app -- --template vite --model gateway`,
  );
}

function describeContent(folder: string): string | undefined {
  const [first, ...others] = listContent(folder);
  if (first === undefined) return undefined;
  const more = others.length === 0 ? "" : ` and ${others.length} more`;
  return `The folder ${folder} is not empty: it has ${first}${more}. Choose another folder.`;
}

function describeNextSteps({ template, model }: Answers, path: string, packageManager: string): string {
  const { keyVariable } = MODELS[model];
  const commands = [
    ...(path === "" ? [] : [`cd ${/[^\w./-]/.test(path) ? JSON.stringify(path) : path}`]),
    `${packageManager} install`,
    `${packageManager} run dev`,
  ];
  const key =
    keyVariable === null ? "" : `\nAnswers are scripted until you set ${keyVariable} in the file .env.\n`;
  return `
Created ${path === "" ? "the app" : path} from the template ${template}. Next:

${commands.map((command) => `  ${command}\n`).join("")}${key}`;
}
