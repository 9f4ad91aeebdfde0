/**
 * `startNetwork` gives processes hosts of their own, and drops the packets between a host and a server, in one
 * direction or both. A process that runs in a network namespace of its own (`runInNamespace`) gets hosts that are
 * namespaces too, behind a router: there the kernel sends lost bytes again, as after a real partition. Elsewhere,
 * proxies drop the bytes.
 *
 * Invariant: nothing outlives this process, and nothing outside of its namespace changes.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { readlinkSync } from "node:fs";
import { forget, watch } from "../processes/watch.ts";
import { until } from "../util/until.ts";
import { HOST } from "./free-port.ts";
import type { Direction } from "./proxy-connection.ts";
import { startProxy, type TcpProxy } from "./tcp-proxy.ts";

export interface Network {
  /** Whether packets are dropped. Otherwise proxies drop bytes. */
  readonly dropsPackets: boolean;
  addHost(): Promise<NetworkHost>;
  close(): Promise<void>;
}

export interface NetworkHost {
  /** In front of the command of a process on this host. */
  readonly launcher: readonly string[];
  /** The address of this host. */
  readonly address: string;
  /** Replaces host and port of the URL of a server by those that this host has to use. */
  urlOf(server: string, url: string): string;
  /** Drops everything between this host and a server in one direction, until `heal`. */
  cut(server: string, direction: Direction): void;
  heal(): Promise<void>;
}

const IN_NAMESPACE = "TURNSTREAM_NAMESPACE";

/**
 * Runs this program again in a network namespace of its own, if the system allows it.
 * @returns its exit code, or null if the program runs in one already, or can't
 */
export function runInNamespace(): number | null {
  if (process.env[IN_NAMESPACE] === "1") return null;
  const inside = ["--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"];
  if (spawnSync("unshare", [...inside, "true"], { stdio: "ignore" }).status !== 0) return null;
  const program = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const env = { ...process.env, [IN_NAMESPACE]: "1" };
  return spawnSync("unshare", [...inside, ...program], { stdio: "inherit", env }).status ?? 1;
}

/** @param servers the ports of the servers on this host, by name */
export async function startNetwork(servers: Readonly<Record<string, number>>): Promise<Network> {
  return process.env[IN_NAMESPACE] === "1" ? startNamespaces(servers) : startProxies(servers);
}

async function startProxies(servers: Readonly<Record<string, number>>): Promise<Network> {
  const all: TcpProxy[] = [];
  return {
    dropsPackets: false,
    async addHost() {
      const proxies = new Map<string, TcpProxy>();
      for (const [name, port] of Object.entries(servers))
        proxies.set(name, await startProxy({ to: { host: HOST, port } }));
      all.push(...proxies.values());
      return {
        launcher: [],
        address: HOST,
        urlOf: (server, url) => withAddress(url, HOST, proxies.get(server)?.port),
        cut: (server, direction) => proxies.get(server)?.blackhole(direction),
        heal: async () => void (await Promise.all([...proxies.values()].map((proxy) => proxy.heal()))),
      };
    },
    close: async () => void (await Promise.all(all.map((proxy) => proxy.close()))),
  };
}

/**
 * This process is at 10.99.0.1, the servers at the addresses after it, a router at 10.99.n.254, and host n at
 * 10.99.n.1. The router drops what its rules name, and never what clients in this process send or receive. The servers
 * have proxies here, because they listen on 127.0.0.1 only.
 */
async function startNamespaces(servers: Readonly<Record<string, number>>): Promise<Network> {
  const router = await openNamespace();
  run("ip", "link", "add", "hub", "type", "veth", "peer", "name", "hub", "netns", String(router.pid));
  run("ip", "link", "set", "hub", "up");
  router.run("ip", "addr", "add", "10.99.0.254/24", "dev", "hub");
  router.run("ip", "link", "set", "hub", "up");
  router.run("sysctl", "-qw", "net.ipv4.ip_forward=1");
  // The first address is the one from which this process connects.
  run("ip", "addr", "add", "10.99.0.1/24", "dev", "hub");
  const proxies = new Map<string, TcpProxy>();
  for (const [n, [name, port]] of Object.entries(servers).entries()) {
    const host = `10.99.0.${n + 2}`;
    run("ip", "addr", "add", `${host}/24`, "dev", "hub");
    proxies.set(name, await startProxy({ to: { host: HOST, port }, host }));
  }
  run("ip", "route", "add", "10.99.0.0/16", "via", "10.99.0.254");
  const namespaces = [router];
  return {
    dropsPackets: true,
    async addHost() {
      const namespace = await openNamespace();
      const n = namespaces.push(namespace) - 1;
      const [address, gateway] = [`10.99.${n}.1`, `10.99.${n}.254`];
      const link = `host${n}`;
      router.run(
        "ip",
        "link",
        "add",
        link,
        "type",
        "veth",
        "peer",
        "name",
        "eth",
        "netns",
        String(namespace.pid),
      );
      router.run("ip", "addr", "add", `${gateway}/24`, "dev", link);
      router.run("ip", "link", "set", link, "up");
      namespace.run("ip", "link", "set", "lo", "up");
      namespace.run("ip", "addr", "add", `${address}/24`, "dev", "eth");
      namespace.run("ip", "link", "set", "eth", "up");
      namespace.run("ip", "route", "add", "default", "via", gateway);
      const rules: string[][] = [];
      return {
        launcher: ["nsenter", `--net=/proc/${namespace.pid}/ns/net`],
        address,
        urlOf: (server, url) => withAddress(url, proxies.get(server)?.host, proxies.get(server)?.port),
        cut(server, direction) {
          const peer = proxies.get(server)?.host ?? "";
          const [from, to] = direction === "toServer" ? [address, peer] : [peer, address];
          const rule = ["from", from, "to", to, "blackhole"];
          router.run("ip", "rule", "add", ...rule);
          rules.push(rule);
        },
        async heal() {
          for (const rule of rules.splice(0)) router.run("ip", "rule", "del", ...rule);
        },
      };
    },
    async close() {
      await Promise.all([...proxies.values()].map((proxy) => proxy.close()));
      for (const namespace of namespaces) namespace.close();
    },
  };
}

interface Namespace {
  /** A process in the namespace. */
  readonly pid: number;
  run(file: string, ...args: readonly string[]): void;
  close(): void;
}

async function openNamespace(): Promise<Namespace> {
  const holder = spawn("unshare", ["--net", "sleep", "infinity"], { stdio: "ignore" });
  const { pid } = holder;
  if (pid === undefined) throw new Error("`unshare` can't be started");
  watch(pid);
  const ours = readlinkSync("/proc/self/ns/net");
  await until("a network namespace", () => readlinkSync(`/proc/${pid}/ns/net`) !== ours, { everyMs: 5 });
  return {
    pid,
    run: (...command) => run("nsenter", `--net=/proc/${pid}/ns/net`, ...command),
    close() {
      holder.kill("SIGKILL");
      forget(pid);
    },
  };
}

function run(file: string, ...args: readonly string[]): void {
  execFileSync(file, args, { stdio: ["ignore", "ignore", "inherit"] });
}

function withAddress(url: string, host: string | undefined, port: number | undefined): string {
  const address = new URL(url);
  if (host === undefined || port === undefined) throw new Error(`the network has no server for ${url}`);
  address.hostname = host;
  address.port = String(port);
  return address.href;
}
