/**
 * `canonicalLocale`, `localeFallbacks` and `countText` choose texts by language tag (BCP 47) and by number. Pure.
 * Invariant: a tag is untrusted: an invalid one gives null, and never throws. Fallbacks go from specific to general and
 * are unique. Plural forms come from `Intl.PluralRules`, so every language has its own rules.
 */

/** Longer tags than this are refused. RFC 5646 (4.4.1) recommends at least 35. */
export const MAX_LOCALE = 35;
/** A language and further subtags. `canonicalLocale` checks the rest. */
export const LOCALE_PATTERN = /^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/;

/** Returns the tag in its canonical form, such as `zh-TW`, or null if it is not a language tag. */
export function canonicalLocale(tag: string): string | null {
  if (tag.length > MAX_LOCALE || !LOCALE_PATTERN.test(tag)) return null;
  try {
    return Intl.getCanonicalLocales(tag)[0] ?? null;
  } catch {
    return null;
  }
}

/** Catalogs of Chinese are named by region, so a tag finds its script's catalog first, then the other script. */
const CHINESE: Readonly<Record<string, readonly string[]>> = {
  Hant: ["zh-TW", "zh-CN"],
  Hans: ["zh-CN", "zh-TW"],
};

/**
 * Returns the languages in which to look for a text, the best first: `zh-HK` gives `zh-HK`, `zh-Hant`, `zh-TW`, `zh-CN`,
 * `zh`. An invalid tag gives none. The caller adds its default.
 */
export function localeFallbacks(tag: string): readonly string[] {
  const canonical = canonicalLocale(tag);
  if (canonical === null) return [];
  const { language, script, region } = new Intl.Locale(canonical).maximize();
  const regional = region === undefined ? language : `${language}-${region}`;
  const scripted = script === undefined ? language : `${language}-${script}`;
  const related = language === "zh" ? (CHINESE[script ?? ""] ?? []) : [];
  // A script that the user named excludes the region's usual script: zh-Hans-TW is not zh-TW.
  const isUsual = new Intl.Locale(regional).maximize().script === script;
  return [...new Set([canonical, ...(isUsual ? [regional] : []), scripted, ...related, language])];
}

/** The text of each plural form. `#` stands for the number. `other` is used for forms without a text. */
export type PluralForms = Partial<Readonly<Record<Intl.LDMLPluralRule, string>>> & { readonly other: string };

/** Returns a function that gives the text for a number, with the plural rules and digits of the language. */
export function countText(locale: string, forms: PluralForms): (n: number) => string {
  return (n) => {
    const form = forms[new Intl.PluralRules(locale).select(n)] ?? forms.other;
    return form.replaceAll("#", () => new Intl.NumberFormat(locale).format(n));
  };
}
