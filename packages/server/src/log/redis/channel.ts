/**
 * One channel: who listens, which server it belongs to, and how far it is subscribed there. Plain state, and the
 * steps that need nothing else; when to take them is for `channels.ts`.
 */
import type { News } from "../engine.ts";
import type { Link } from "./connection/connection.ts";
import type { RedisNode } from "./connection/node.ts";

export type Listener = (news: News) => void;

/** An attempt to subscribe; a later one makes it void. */
export interface Attempt {
  readonly link: Link;
}

export interface Channel {
  readonly name: string;
  readonly listeners: Set<Listener>;
  /** To be told once it is subscribed. */
  readonly waiting: Set<() => void>;
  node: RedisNode;
  /** Over which it is subscribed; null while it is not. */
  link: Link | null;
  attempt: Attempt | null;
  failures: number;
  failure: unknown;
  retry: NodeJS.Timeout | null;
  /** Nobody listens any more, and soon it is let go. */
  lingering: NodeJS.Timeout | null;
}

export function newChannel(name: string, node: RedisNode): Channel {
  return {
    name,
    listeners: new Set(),
    waiting: new Set(),
    node,
    link: null,
    attempt: null,
    failures: 0,
    failure: undefined,
    retry: null,
    lingering: null,
  };
}

/** Takes it off its connection; an attempt under way is undone once it is over. */
export function unsubscribe(channel: Channel): void {
  const link = channel.link ?? channel.attempt?.link;
  channel.link = null;
  channel.attempt = null;
  // A connection that is gone has taken the subscription with it; a server that lost the slot has ended it.
  link?.unsubscribe(channel.name).catch(() => undefined);
}

export function forget(channel: Channel): void {
  clearTimer(channel.retry);
  clearTimer(channel.lingering);
  channel.attempt = null;
}

export function tellAll(channel: Channel, news: News): void {
  for (const listener of channel.listeners) listener(news);
}

export function clearTimer(timer: NodeJS.Timeout | null): void {
  if (timer !== null) clearTimeout(timer);
}
