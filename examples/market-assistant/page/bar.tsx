/** `Bar` is the bar at the top of both pages: the name of the assistant, and the choice of a language. */
import type { ReactNode } from "react";
import { LOCALES, type Locale } from "../shared/locales.ts";
import { LANGUAGES, type Language } from "./languages.ts";

interface BarProps {
  readonly language: Language;
  readonly onLocale: (locale: Locale) => void;
  readonly children?: ReactNode;
}

export function Bar({ language: { locale, strings }, onLocale, children }: BarProps): ReactNode {
  return (
    <header className="ma-bar">
      <span className="ma-mark" aria-hidden="true" />
      <strong>{strings.name}</strong>
      {children}
      <select
        className="ma-select"
        aria-label={strings.language}
        value={locale}
        onChange={(event) => onLocale(event.target.value as Locale)}
      >
        {LOCALES.map((one) => (
          <option key={one} value={one} lang={one}>
            {LANGUAGES[one].name}
          </option>
        ))}
      </select>
    </header>
  );
}
