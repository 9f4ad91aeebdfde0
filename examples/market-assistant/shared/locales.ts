/** `LOCALES` lists the languages of the example, and `localeFor` selects one. Pure. */
export const LOCALES = ["vi", "en", "zh-CN", "zh-TW"] as const;

export type Locale = (typeof LOCALES)[number];

/** One agent per language, because its labels and texts are in that language. */
export const AGENTS: Readonly<Record<Locale, string>> = {
  vi: "market-vi",
  en: "market-en",
  "zh-CN": "market-zh-cn",
  "zh-TW": "market-zh-tw",
};

/** Returns the language and its script: the two kinds of Chinese differ in it, whatever their country. */
function languageAndScript(tag: string): string {
  const { language, script } = new Intl.Locale(tag).maximize();
  return `${language}-${script}`;
}

/** Returns the first supported language of the user, whatever its country, or English. */
export function localeFor(languages: readonly string[]): Locale {
  const known = languages.map((tag) =>
    LOCALES.find((locale) => languageAndScript(locale) === languageAndScript(tag)),
  );
  return known.find((locale) => locale !== undefined) ?? "en";
}
