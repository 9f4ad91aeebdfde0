/** `importFilesPackage` finds `@turnstream/files`, which reads PDF and HTML. Returns null if it is not installed. */
export async function importFilesPackage() {
  try {
    return await import("@turnstream/files");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ERR_MODULE_NOT_FOUND" && message.includes("'@turnstream/files'")) return null;
    throw error;
  }
}
