/** `readAddress` and `writeAddress` convert between the gallery's URL and its settings. Pure. */
import { DIRECTIONS, type Appearance, LOCALES, THEMES } from "./handle.ts";

export interface Address extends Appearance {
  readonly state: string;
  /** Number of events; null for the default position of the state. */
  readonly at: number | null;
  /** In pixels; null for the full width. */
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

/** Omits settings that have their default value. */
export function writeAddress({ state, at, width, locale, theme, dir }: Address): string {
  const query = new URLSearchParams({ state });
  if (at !== null) query.set("at", String(at));
  if (locale !== LOCALES[0]) query.set("locale", locale);
  if (theme !== THEMES[0]) query.set("theme", theme);
  if (dir !== DIRECTIONS[0]) query.set("dir", dir);
  if (width !== null) query.set("width", String(width));
  return `?${query.toString().replaceAll("%2F", "/")}`;
}
