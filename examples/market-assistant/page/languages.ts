/** `LANGUAGES` has everything for a language of the page: its strings, the thread's strings, and its agent. */
import { en as threadEn, type Strings } from "@turnstream/react";
import { vi as threadVi } from "@turnstream/react/strings/vi";
import { zhCn as threadZhCn } from "@turnstream/react/strings/zh-cn";
import { zhTw as threadZhTw } from "@turnstream/react/strings/zh-tw";
import { AGENTS, type Locale } from "../shared/locales.ts";
import { en } from "./strings/en.ts";
import { vi } from "./strings/vi.ts";
import type { PageStrings } from "./strings/strings.ts";
import { zhCn } from "./strings/zh-cn.ts";
import { zhTw } from "./strings/zh-tw.ts";

export interface Language {
  readonly locale: Locale;
  /** The name of the language in that language. */
  readonly name: string;
  readonly strings: PageStrings;
  readonly thread: Strings;
  readonly agent: string;
  /** Display names of the agents. Agents of other languages have the same name. */
  readonly agents: Readonly<Record<string, string>>;
}

function languageOf(locale: Locale, name: string, strings: PageStrings, thread: Strings): Language {
  const names = Object.values(AGENTS).map((agent) => [agent, strings.name]);
  const agents = Object.fromEntries([...names, ["analyst", strings.analyst]]) as Record<string, string>;
  return { locale, name, strings, thread, agent: AGENTS[locale], agents };
}

export const LANGUAGES: Readonly<Record<Locale, Language>> = {
  vi: languageOf("vi", "Tiếng Việt", vi, threadVi),
  en: languageOf("en", "English", en, threadEn),
  "zh-CN": languageOf("zh-CN", "简体中文", zhCn, threadZhCn),
  "zh-TW": languageOf("zh-TW", "繁體中文", zhTw, threadZhTw),
};
