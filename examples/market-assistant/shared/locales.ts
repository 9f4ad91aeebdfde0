/** The languages of the example, for the agent and for the page. Data only. */
export const LOCALES = ["vi", "en", "zh-CN"] as const;

export type Locale = (typeof LOCALES)[number];

/** One agent for each language: its labels and what it finds are written in it. */
export const AGENTS: Readonly<Record<Locale, string>> = {
  vi: "market-vi",
  en: "market-en",
  "zh-CN": "market-zh",
};
