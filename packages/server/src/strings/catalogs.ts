/**
 * `selectStrings` returns the texts of the runtime in the language of a turn. `stringCatalogs` validates the texts of
 * a worker. Pure.
 *
 * Invariant: a text is searched in the fallbacks of the user's language, then in those of the worker's default, then in
 * English. In each language, the worker's own text comes before the built-in one. So every text is found.
 */
import { canonicalLocale, localeFallbacks } from "@turnstream/protocol";
import { z } from "zod";
import { en } from "./en.ts";
import type { RuntimeStrings, StringOverrides } from "./runtime-strings.ts";
import { vi } from "./vi.ts";
import { zhCn } from "./zh-cn.ts";
import { zhTw } from "./zh-tw.ts";

/** The built-in texts by language. Each of these catalogs is complete. */
export const BUILT_IN_STRINGS = { en, vi, "zh-CN": zhCn, "zh-TW": zhTw } as const satisfies Readonly<
  Record<string, RuntimeStrings>
>;

/** Texts by language tag. */
export type StringCatalogs = Readonly<Record<string, StringOverrides>>;

export interface CatalogOptions {
  /** The worker's own texts. */
  readonly strings: StringCatalogs;
  /** The language of turns whose message and session name none. */
  readonly defaultLocale: string;
}

/** @param locale the language of the turn, or null if it has none */
export function selectStrings(locale: string | null, options: CatalogOptions): RuntimeStrings {
  const tags = [...localeFallbacks(locale ?? ""), ...localeFallbacks(options.defaultLocale), "en"];
  let selected: RuntimeStrings = en;
  for (const tag of [...new Set(tags)].toReversed())
    for (const catalog of [find(BUILT_IN_STRINGS, tag), find(options.strings, tag)])
      selected = { ...selected, ...catalog, errors: { ...selected.errors, ...catalog?.errors } };
  return selected;
}

function find(catalogs: StringCatalogs, tag: string): StringOverrides | undefined {
  return Object.hasOwn(catalogs, tag) ? catalogs[tag] : undefined;
}

/** A language tag in its canonical form. */
export const localeTag = z
  .string('a canonical language tag such as "zh-TW"')
  .refine((tag) => canonicalLocale(tag) === tag, 'a canonical language tag such as "zh-TW"');

const known = z.strictObject(
  Object.fromEntries(Object.keys(en).map((name) => [name, z.custom().optional()])),
);

/** The option `strings` of a worker. */
export const stringCatalogs = z.record(localeTag, known) as unknown as z.ZodType<
  StringCatalogs,
  StringCatalogs
>;
