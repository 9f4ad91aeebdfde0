/** The languages of the example, for the agent and for the page. Data, and a pure choice among them. */
export const LOCALES = ["vi", "en", "zh-CN"] as const;

export type Locale = (typeof LOCALES)[number];

/** One agent for each language: its labels and what it finds are written in it. */
export const AGENTS: Readonly<Record<Locale, string>> = {
  vi: "market-vi",
  en: "market-en",
  "zh-CN": "market-zh",
};

const base = (tag: string): string => tag.split("-")[0] ?? "";

/** The first that somebody reads, whatever its country; English for who reads none of them. */
export function localeFor(languages: readonly string[]): Locale {
  const known = languages.map((language) => LOCALES.find((locale) => base(locale) === base(language)));
  return known.find((locale) => locale !== undefined) ?? "en";
}
