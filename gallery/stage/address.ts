/** What the address of a page of the gallery says, and how to say it. Pure. */
import { DIRECTIONS, type Appearance, LOCALES, THEMES } from "./handle.ts";

export interface Address extends Appearance {
  readonly state: string;
  /** Null for where the state stands. */
  readonly at: number | null;
  /** In pixels; null for all there is. */
  readonly width: number | null;
}

export function readAddress(search: string): Address {
  const query = new URLSearchParams(search);
  const pick = <Value extends string>(name: string, values: readonly [Value, ...Value[]]): Value =>
    values.find((value) => value === query.get(name)) ?? values[0];
  const number = (name: string): number | null => (query.has(name) ? Number(query.get(name)) || 0 : null);
  return {
    state: query.get("state") ?? "",
    at: number("at"),
    width: number("width"),
    locale: pick("locale", LOCALES),
    theme: pick("theme", THEMES),
    dir: pick("dir", DIRECTIONS),
  };
}

/** Without what is as it is anyway. */
export function writeAddress({ state, at, width, locale, theme, dir }: Address): string {
  const query = new URLSearchParams({ state });
  if (at !== null) query.set("at", String(at));
  if (locale !== LOCALES[0]) query.set("locale", locale);
  if (theme !== THEMES[0]) query.set("theme", theme);
  if (dir !== DIRECTIONS[0]) query.set("dir", dir);
  if (width !== null) query.set("width", String(width));
  return `?${query.toString().replaceAll("%2F", "/")}`;
}
