/** Vite serves the page, and in development also the agents, at the same address. */
import { existsSync } from "node:fs";
import { turnstream, type Turnstream, type TurnstreamOptions } from "@turnstream/server";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin, type ViteDevServer } from "vite";

if (existsSync(".env")) process.loadEnvFile();

export default defineConfig({
  plugins: [react(), agents()],
  server: { watch: { ignored: ["**/.turnstream/**"] } },
});

function agents(): Plugin {
  let chat: Turnstream;
  return {
    name: "agents",
    apply: "serve",
    async configureServer(vite) {
      const options = await load(vite);
      chat = turnstream({
        ...options,
        user: (request) => (isOwnHost(request) ? options.user(request) : null),
      });
      await chat.worker();
      if (vite.httpServer !== null) (await chat.gateway()).attach(vite.httpServer);
      vite.httpServer?.once("close", () => void chat.close());
    },
    /** New turns use the changed agents, and sessions stay. */
    async hotUpdate({ modules, read, server }) {
      if (this.environment.name !== "ssr" || modules.length === 0) return undefined;
      try {
        // An editor may have emptied the file, and not written it yet.
        await read();
        await chat.replaceAgents((await load(server)).agents);
        server.config.logger.info("The agents are reloaded.", { timestamp: true });
      } catch (error) {
        server.config.logger.error(`The agents stay as they were. ${String(error)}`);
      }
      return [];
    },
  };
}

/** Returns false if a page of another site has pointed its own name at this machine. It must not become a user. */
function isOwnHost({ headers }: Request): boolean {
  return /^(localhost|[\d.]+|\[[\da-f:]+\])(:\d+)?$/i.test(headers.get("host") ?? "");
}

async function load(vite: ViteDevServer): Promise<TurnstreamOptions> {
  return (await vite.ssrLoadModule("/agent.ts"))["default"];
}
