/**
 * `ask` asks in a terminal for the answers that the arguments did not give.
 * Invariant: a given answer is not asked again. A cancelled question ends with `CancelledError`, and creates nothing.
 */
import type { Readable, Writable } from "node:stream";
import { cancel, intro, isCancel, select, text } from "@clack/prompts";
import { MODELS, type ModelName, TEMPLATES, type TemplateName } from "./choices.ts";

export interface Answers {
  readonly folder: string;
  readonly template: TemplateName;
  readonly model: ModelName;
}

export interface Terminal {
  readonly input: Readable;
  readonly output: Writable;
}

export class CancelledError extends Error {}

const DEFAULT_FOLDER = "my-app";

/** @param findObstacle returns why an app can't be created in a folder, or undefined */
export async function ask(
  given: Partial<Answers>,
  terminal: Terminal,
  findObstacle: (folder: string) => string | undefined,
): Promise<Answers> {
  function unlessCancelled<Value>(value: Value): Exclude<Value, symbol> {
    if (!isCancel(value)) return value as Exclude<Value, symbol>;
    cancel("Cancelled. Nothing was created.", terminal);
    throw new CancelledError();
  }

  async function askFolder(): Promise<string> {
    const folder = await text({
      message: "Folder of the new app",
      placeholder: DEFAULT_FOLDER,
      defaultValue: DEFAULT_FOLDER,
      validate: (value = "") => findObstacle(value === "" ? DEFAULT_FOLDER : value),
      ...terminal,
    });
    return unlessCancelled(folder);
  }

  async function askName<Name extends string>(
    message: string,
    choices: Readonly<Record<Name, { readonly label: string; readonly hint: string }>>,
  ): Promise<Name> {
    const options = (Object.keys(choices) as Name[]).map((value) => ({
      value: value as string,
      ...choices[value],
    }));
    return unlessCancelled(await select({ message, options, ...terminal })) as Name;
  }

  intro("Create a Turnstream app", terminal);
  return {
    folder: given.folder ?? (await askFolder()),
    template: given.template ?? (await askName("Template", TEMPLATES)),
    model: given.model ?? (await askName("Model", MODELS)),
  };
}
