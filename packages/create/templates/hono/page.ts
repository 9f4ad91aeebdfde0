/** `servePage` serves the page: from `dist` in production, and otherwise from Vite, which also reloads the agents. */
import type { HttpBindings } from "@hono/node-server";
import { serveStatic } from "@hono/node-server/serve-static";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Turnstream, TurnstreamOptions } from "@turnstream/server";
import type { Hono } from "hono";
import type { Plugin, ViteDevServer } from "vite";

export interface HonoEnv {
  Bindings: HttpBindings;
}

export async function servePage(app: Hono<HonoEnv>, chat: Turnstream): Promise<void> {
  if (process.env.NODE_ENV === "production") {
    app.use(serveStatic({ root: "dist" }));
    return;
  }
  const { createServer } = await import("vite");
  const vite = await createServer({
    server: { middlewareMode: true, watch: { ignored: ["**/.turnstream/**"] } },
    plugins: [reloadAgents(chat)],
  });
  app.use(async ({ env: { incoming, outgoing } }) => {
    await new Promise((resolve) => {
      outgoing.once("close", resolve);
      vite.middlewares(incoming, outgoing);
    });
    return RESPONSE_ALREADY_SENT;
  });
}

function reloadAgents(chat: Turnstream): Plugin {
  return {
    name: "reload-agents",
    // Vite watches the files that it has loaded.
    configureServer: async (vite) => void (await load(vite)),
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

async function load(vite: ViteDevServer): Promise<TurnstreamOptions> {
  return (await vite.ssrLoadModule("/agent.ts"))["default"];
}
