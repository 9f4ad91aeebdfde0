/**
 * `shareFolder` opens a data folder for the first caller in this process, returns the same parts to later ones, and
 * closes them when all callers have. A development server that reloads its configuration starts the next app before it
 * closes the earlier one.
 * Invariant: the folder is opened once, also if a bundler has loaded this module twice. All apps share the log and the
 * signals too, because these are in memory.
 */
interface Closable {
  close(): Promise<void>;
}

interface SharedFolder {
  readonly opened: Promise<Closable>;
  users: number;
  /** Resolves when the last user has closed it. Null until then. */
  closing: Promise<unknown> | null;
}

const KEY = Symbol.for("@turnstream/server/folders");
const shared = globalThis as { [KEY]?: Map<string, SharedFolder> };

/** @param path the real path of the folder */
export async function shareFolder<Parts extends Closable>(
  path: string,
  open: () => Promise<Parts>,
): Promise<Parts> {
  const folders = (shared[KEY] ??= new Map());
  const earlier = folders.get(path);
  if (earlier !== undefined && earlier.closing !== null) {
    await earlier.closing;
    return shareFolder(path, open);
  }
  const entry: SharedFolder = earlier ?? { opened: open(), users: 0, closing: null };
  folders.set(path, entry);
  entry.users++;
  const forget = (): void => {
    if (folders.get(path) === entry) folders.delete(path);
  };
  try {
    // The same path always has the same type of parts.
    const parts = (await entry.opened) as Parts;
    let left: Promise<void> | null = null;
    const leave = async (): Promise<void> => {
      entry.users--;
      if (entry.users > 0) return;
      const closed = parts.close().finally(forget);
      entry.closing = closed.catch(() => undefined);
      await closed;
    };
    return { ...parts, close: () => (left ??= leave()) };
  } catch (error) {
    forget();
    throw error;
  }
}
