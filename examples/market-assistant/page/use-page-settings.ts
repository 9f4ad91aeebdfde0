/** `usePageSettings` returns the language and the theme of the page, and applies them to the document. */
import { useEffect } from "react";
import { LOCALES, type Locale, localeFor } from "../shared/locales.ts";
import { LANGUAGES, type Language } from "./languages.ts";
import { useSetting } from "./use-setting.ts";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

interface PageSettings {
  readonly language: Language;
  readonly theme: Theme;
  readonly setLocale: (locale: Locale) => void;
  readonly setTheme: (theme: Theme) => void;
}

export function usePageSettings(): PageSettings {
  const [locale, setLocale] = useSetting("locale", LOCALES, localeFor(navigator.languages));
  const [theme, setTheme] = useSetting("theme", THEMES, "system");
  useEffect(() => {
    document.documentElement.lang = locale;
    if (theme === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
  }, [locale, theme]);
  return { language: LANGUAGES[locale], theme, setLocale, setTheme };
}
