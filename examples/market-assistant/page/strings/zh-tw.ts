/** The page's strings in Traditional Chinese. */
import type { PageStrings } from "./strings.ts";

export const zhTw: PageStrings = {
  name: "市場助理",
  tagline: "詢問市場或持股，也可以下單。點一則建議開始。",
  analyst: "分析師",
  placeholder: "傳訊息給市場助理…",
  suggestions: "建議",
  share: "分享",
  shows: {
    market: "步驟分組、引用、表格",
    buy: "下單前先確認",
    portfolio: "不清楚時會提問",
    chart: "圖表",
    analyst: "子代理、引用",
    scan: "可隨時停止的長任務",
    forecast: "錯誤與重試",
    account: "表單",
    file: "附件",
  },
  untitled: "新對話",
  menu: "開啟清單",
  closeMenu: "關閉清單",
  language: "語言",
  theme: { system: "外觀：依系統", light: "外觀：淺色", dark: "外觀：深色" },
  invented: "所有數據均為虛構。",
};
