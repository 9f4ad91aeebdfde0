/**
 * A server of its own, to be measured: one of the bare loops, or the gateway. It tells where it listens, and what it has
 * used when it is asked. Nothing else happens in this process: who publishes and who looks are others.
 */
import { type BareKind, openBareServer } from "../baseline-server.ts";
import { openGatewayServer } from "../gateway-server.ts";

export interface SubjectSettings {
  readonly kind: BareKind | "gateway";
  readonly redisUrl: string;
  readonly databaseUrl: string;
  readonly prefix: string;
  readonly secret: string;
}

export interface SubjectWeight {
  readonly cpuMicros: number;
  readonly rss: number;
  /** The same with the pages that V8 keeps for the next burst. */
  readonly grown: number;
  readonly heap: number;
}

export type SubjectOrder = { readonly weigh: "now" | "clean" } | { readonly leave: true };
export type SubjectWord = { readonly port: number } | { readonly weight: SubjectWeight };

const settings = JSON.parse(process.argv[2] ?? "") as SubjectSettings;
const { kind, redisUrl, prefix } = settings;
const port =
  kind === "gateway" ? await openGatewayServer(settings) : await openBareServer(kind, redisUrl, prefix);

function tell(word: SubjectWord): void {
  if (process.connected) process.send?.(word);
}

/**
 * What is only waiting to be collected is nobody's: with "clean" it is collected before. Then pages that V8 keeps for the next
 * burst are given back, which it does by itself only some time after a process has come to rest.
 */
async function weigh(isClean: boolean): Promise<void> {
  if (isClean) await collect({});
  const { rss: grown } = process.memoryUsage();
  if (isClean) await collect({ flavor: "last-resort" });
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  tell({ weight: { cpuMicros: user + system, rss, grown, heap: heapUsed } });
}

async function collect(how: { flavor?: "last-resort" }): Promise<void> {
  for (let times = 4; times > 0; times--) {
    globalThis.gc?.({ type: "major", execution: "sync", ...how });
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

process.on("disconnect", () => process.exit());
process.on("message", (order: SubjectOrder) => {
  if ("weigh" in order) void weigh(order.weigh === "clean");
  else process.exit();
});
tell({ port });
