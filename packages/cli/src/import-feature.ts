/** `importFeature` imports the package of a feature, which only the commands of the feature need. */
import { CommandError } from "./cli-context.ts";

/**
 * @param load imports `@turnstream/` and the name
 * @throws CommandError that says how to install the package
 */
export async function importFeature<Module>(name: string, load: () => Promise<Module>): Promise<Module> {
  const missing = `@turnstream/${name}`;
  try {
    return await load();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ERR_MODULE_NOT_FOUND" && message.includes(`'${missing}'`))
      throw new CommandError(`turnstream ${name} needs ${missing}: npm install ${missing}`);
    throw error;
  }
}
