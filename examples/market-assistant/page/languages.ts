/** Everything that goes with a language of the page: its own words, the thread's, and which agent speaks it. */
import { en as threadEn, type Strings } from "@turnstream/react";
import { vi as threadVi } from "@turnstream/react/strings/vi";
import { zhCn as threadZhCn } from "@turnstream/react/strings/zh-cn";
import { AGENTS, type Locale } from "../shared/locales.ts";
import { en } from "./words/en.ts";
import { vi } from "./words/vi.ts";
import type { Words } from "./words/words.ts";
import { zhCn } from "./words/zh-cn.ts";

export interface Language {
  readonly locale: Locale;
  /** In its own words. */
  readonly name: string;
  readonly words: Words;
  readonly thread: Strings;
  readonly agent: string;
  /** What people call the agents. Whoever answered in another language has the name of this one. */
  readonly agents: Readonly<Record<string, string>>;
}

function languageOf(locale: Locale, name: string, words: Words, thread: Strings): Language {
  const names = Object.values(AGENTS).map((agent) => [agent, words.name]);
  const agents = Object.fromEntries([...names, ["analyst", words.analyst]]) as Record<string, string>;
  return { locale, name, words, thread, agent: AGENTS[locale], agents };
}

export const LANGUAGES: Readonly<Record<Locale, Language>> = {
  vi: languageOf("vi", "Tiếng Việt", vi, threadVi),
  en: languageOf("en", "English", en, threadEn),
  "zh-CN": languageOf("zh-CN", "简体中文", zhCn, threadZhCn),
};
