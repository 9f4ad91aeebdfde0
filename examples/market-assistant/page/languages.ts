/** `LANGUAGES` has everything for a language of the page, and `useLanguage` the one that the user has picked. */
import { en, type Strings } from "@turnstream/react";
import { vi } from "@turnstream/react/strings/vi";
import { zhCn } from "@turnstream/react/strings/zh-cn";
import { zhTw } from "@turnstream/react/strings/zh-tw";
import { useEffect, useState } from "react";
import { AGENTS, LOCALES, type Locale, localeFor } from "../shared/locales.ts";

interface PageStrings {
  readonly name: string;
  readonly tagline: string;
  readonly analyst: string;
  readonly placeholder: string;
  readonly share: string;
  readonly language: string;
  /** Names of the arguments that an approval shows. */
  readonly argumentNames: Readonly<Record<"symbol" | "count" | "max_price", string>>;
}

export interface Language {
  readonly locale: Locale;
  /** The name of the language in that language. */
  readonly name: string;
  readonly strings: PageStrings;
  /** The strings of `@turnstream/react`. */
  readonly thread: Strings;
  readonly agent: string;
  readonly agentNames: Readonly<Record<string, string>>;
}

function languageOf(locale: Locale, name: string, thread: Strings, strings: PageStrings): Language {
  // The agents of the other languages have the same name, because the user can change the language in a session.
  const names = Object.values(AGENTS).map((agent) => [agent, strings.name]);
  const agentNames = Object.fromEntries([...names, ["analyst", strings.analyst]]) as Record<string, string>;
  return { locale, name, thread, strings, agent: AGENTS[locale], agentNames };
}

export const LANGUAGES: Readonly<Record<Locale, Language>> = {
  vi: languageOf("vi", "Tiếng Việt", vi, {
    name: "Trợ lý thị trường",
    tagline: "Hỏi về thị trường, danh mục, hay nhờ đặt lệnh. Mọi số liệu đều là minh hoạ.",
    analyst: "Chuyên gia phân tích",
    placeholder: "Nhắn cho Trợ lý thị trường…",
    share: "Chia sẻ",
    language: "Ngôn ngữ",
    argumentNames: { symbol: "Mã", count: "Số lượng", max_price: "Giá cao nhất" },
  }),
  en: languageOf("en", "English", en, {
    name: "Market assistant",
    tagline: "Ask about the market or your portfolio, or place an order. All figures are invented.",
    analyst: "Analyst",
    placeholder: "Message Market assistant…",
    share: "Share",
    language: "Language",
    argumentNames: { symbol: "Stock", count: "Count", max_price: "Highest price" },
  }),
  "zh-CN": languageOf("zh-CN", "简体中文", zhCn, {
    name: "市场助手",
    tagline: "询问市场或持仓，也可以下单。所有数据均为虚构。",
    analyst: "分析师",
    placeholder: "给市场助手发消息…",
    share: "分享",
    language: "语言",
    argumentNames: { symbol: "股票", count: "数量", max_price: "最高价" },
  }),
  "zh-TW": languageOf("zh-TW", "繁體中文", zhTw, {
    name: "市場助理",
    tagline: "詢問市場或持股，也可以下單。所有數據均為虛構。",
    analyst: "分析師",
    placeholder: "傳訊息給市場助理…",
    share: "分享",
    language: "語言",
    argumentNames: { symbol: "股票", count: "數量", max_price: "最高價" },
  }),
};

const KEY = "market-assistant/locale";

/** Starts with the language of the browser. The browser stores the choice of the user. */
export function useLanguage(): [Language, (locale: Locale) => void] {
  const [locale, setLocale] = useState<Locale>(
    () => LOCALES.find((one) => one === localStorage.getItem(KEY)) ?? localeFor(navigator.languages),
  );
  const language = LANGUAGES[locale];
  useEffect(() => {
    document.documentElement.lang = locale;
    document.title = language.strings.name;
  }, [locale, language]);
  const choose = (next: Locale): void => {
    localStorage.setItem(KEY, next);
    setLocale(next);
  };
  return [language, choose];
}
