/** `hideFilesPackage` hides `@turnstream/files` from this process, as in an app that didn't install it. */
import { registerHooks } from "node:module";

export function hideFilesPackage(): void {
  registerHooks({
    resolve: (name, context, next) =>
      next(name, name === "@turnstream/files" ? { ...context, parentURL: "file:///" } : context),
  });
}
