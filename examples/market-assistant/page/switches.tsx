/** `Switches` selects language and theme. */
import type { ReactNode } from "react";
import { LOCALES, type Locale } from "../shared/locales.ts";
import { Icon } from "./icons.tsx";
import { LANGUAGES, type Language } from "./languages.ts";
import { type Theme, THEMES } from "./use-page-settings.ts";

const ICONS = { system: "screen", light: "sun", dark: "moon" } as const;

interface SwitchesProps {
  readonly language: Language;
  readonly theme: Theme;
  readonly onLocale: (locale: Locale) => void;
  readonly onTheme: (theme: Theme) => void;
}

export function Switches({ language, theme, onLocale, onTheme }: SwitchesProps): ReactNode {
  const { strings, locale } = language;
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "system";
  return (
    <>
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
      <button
        type="button"
        className="ma-icon-button"
        aria-label={strings.theme[theme]}
        title={strings.theme[theme]}
        onClick={() => onTheme(next)}
      >
        <Icon name={ICONS[theme]} />
      </button>
    </>
  );
}
