/**
 * `readDurability` asks a Redis server whether an acknowledged append survives its crash.
 *
 * Invariant: it never claims more than the server shows. Most services refuse CONFIG, and INFO has no `appendfsync`.
 * Then only the name of the service is evidence.
 */

export type Durability =
  /** The server syncs its append-only file before it replies. */
  | { readonly state: "durable" }
  /** The service replies after the append is in a log of its own, in several zones. */
  | { readonly state: "by-service"; readonly service: string }
  /** `setting` is the cause, such as "appendfsync everysec". */
  | { readonly state: "lossy"; readonly setting: string }
  /** The server doesn't show its settings. */
  | { readonly state: "unknown" };

/** The commands of a `RedisClient`. Its module imports this one. */
interface Client {
  configGet(names: string[]): Promise<Readonly<Record<string, string>>>;
  sendCommand<T>(args: readonly string[]): Promise<T>;
}

/** With `yes`, Redis replies without a sync while it rewrites its file, also with `appendfsync always`. */
const NO_SYNC = "no-appendfsync-on-rewrite";

export async function readDurability(client: Client, url: string): Promise<Durability> {
  const settings = await client.configGet(["appendonly", "appendfsync", NO_SYNC]).catch(() => null);
  const { appendonly, appendfsync, [NO_SYNC]: noSync }: Readonly<Record<string, string>> = settings ?? {};
  if (appendonly === "no") return { state: "lossy", setting: "appendonly no" };
  if (appendonly === "yes" && appendfsync === "always")
    return noSync === "yes" ? { state: "lossy", setting: `${NO_SYNC} yes` } : { state: "durable" };
  if (appendonly === "yes" && appendfsync !== undefined)
    return { state: "lossy", setting: `appendfsync ${appendfsync}` };
  // In a cluster without TLS, the addresses of its servers have no names. INFO names the service too.
  const isMemoryDb =
    /\.memorydb\.[\w-]+\.amazonaws\.com(\.cn)?$/.test(new URL(url).hostname) ||
    /^os:Amazon MemoryDB/m.test(await client.sendCommand<string>(["INFO", "server"]));
  return isMemoryDb ? { state: "by-service", service: "Amazon MemoryDB" } : { state: "unknown" };
}
