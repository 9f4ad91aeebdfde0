/**
 * `importFeature` loads the package of a feature for a command that needs it.
 *
 * Invariant: the command works without any of them: each is installed only by those who use it.
 */
import { CommandError } from "./cli-context.ts";

/**
 * @param load imports the package, with its name as a literal, so that bundlers and checks see it
 * @throws CommandError with what to install
 */
export async function importFeature<Module>(
  name: string,
  command: string,
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "ERR_MODULE_NOT_FOUND" || !message.includes(name)) throw error;
    throw new CommandError(`${command} needs ${name}: npm install ${name}`);
  }
}
