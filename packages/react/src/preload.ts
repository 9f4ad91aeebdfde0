/**
 * Loads what is otherwise loaded once a thread is drawn. On a server, before it draws: then answers and cards are in what it
 * draws. In a browser, before it takes over what such a server drew: both draw the same first.
 */
import { cards } from "./cards/later-cards.ts";
import { markdown } from "./content/markdown.tsx";

export async function preload(): Promise<void> {
  await Promise.all([markdown.preload(), cards.preload()]);
}
