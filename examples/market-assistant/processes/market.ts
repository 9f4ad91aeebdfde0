/**
 * `createMarket` is the backend of the example in one call: agents, sign-in, PostgreSQL and Redis. The server and the
 * worker are two processes that share it. Every visitor is a guest, whom a cookie identifies.
 */
import { randomUUID } from "node:crypto";
import { type Turnstream, turnstream, type TurnstreamOptions } from "@turnstream/server";
import { marketAgents } from "../agent/agent.ts";
import { createModels } from "../agent/models.ts";
import { createPace } from "../agent/pace.ts";

export interface Market {
  readonly app: Turnstream;
  /** The name of the model, for display. */
  readonly model: string;
}

const OWN_HOST = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/i;

/**
 * Returns false for another host than this machine. A page of another site can point its own name at 127.0.0.1 (DNS
 * rebinding). It would otherwise use the chat, and with it the developer's model key, as a guest.
 */
export function isOwnHost(host: string | undefined | null): boolean {
  return OWN_HOST.test(host ?? "");
}

const YEAR_SECONDS = 365 * 24 * 60 * 60;
const GUEST = /(?:^|;\s*)market_guest=(guest-[0-9a-f-]{36})(?:;|$)/;

/** Returns the id of the guest, or null without the cookie. */
export function readGuest(cookie: string | undefined | null): string | null {
  return GUEST.exec(cookie ?? "")?.[1] ?? null;
}

/** Returns the cookie of a new guest. Scripts of the page can't read it. */
export function createGuestCookie(): string {
  return `market_guest=guest-${randomUUID()}; Path=/; Max-Age=${YEAR_SECONDS}; HttpOnly; SameSite=Strict`;
}

/** Reads DATABASE_URL, REDIS_URL and TURNSTREAM_SECRET from the environment. */
export function createMarket(options: Omit<TurnstreamOptions, "agents" | "user"> = {}): Market {
  const pace = createPace(Number(process.env["MARKET_SPEED"] ?? 1));
  const models = createModels(process.env, pace);
  const app = turnstream({
    agents: marketAgents(models, pace),
    user: ({ headers }) => (isOwnHost(headers.get("host")) ? readGuest(headers.get("cookie")) : null),
    // The language of the first agent, which answers clients that name neither an agent nor a language.
    worker: { defaultLocale: "vi", shutdownGraceMs: 1_000 },
    ...options,
  });
  return { app, model: models.name };
}
