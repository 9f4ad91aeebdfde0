/** `LOCALES` lists the languages of the example, and `localeFor` selects one. Pure. */
export const LOCALES = ["vi", "en", "zh-CN"] as const;

export type Locale = (typeof LOCALES)[number];

/** One agent per language, because its labels and texts are in that language. */
export const AGENTS: Readonly<Record<Locale, string>> = {
  vi: "market-vi",
  en: "market-en",
  "zh-CN": "market-zh",
};

const base = (tag: string): string => tag.split("-")[0] ?? "";

/** Returns the first supported language of the user, whatever its country, or English. */
export function localeFor(languages: readonly string[]): Locale {
  const known = languages.map((language) => LOCALES.find((locale) => base(locale) === base(language)));
  return known.find((locale) => locale !== undefined) ?? "en";
}
