/** The server: a Hono app with the API of the chat and its page. */
import { serve } from "@hono/node-server";
import { turnstream } from "@turnstream/server";
import { Hono } from "hono";
import options from "./agent.ts";
import { type HonoEnv, servePage } from "./page.ts";

const chat = turnstream(options);
const app = new Hono<HonoEnv>();
app.get("/health", (c) => c.text("ok")); // your own routes
await servePage(app, chat);

await chat.worker();
const gateway = await chat.gateway();
const port = Number(process.env.PORT ?? 3000);
const server = serve({ fetch: app.fetch, port }, () => console.log(`Open http://localhost:${port}`));
gateway.attach(server); // serves /api/v1, sockets included
