/** The page's strings in Simplified Chinese. */
import type { PageStrings } from "./strings.ts";

export const zhCn: PageStrings = {
  name: "市场助手",
  tagline: "询问市场或持仓，也可以下单。点一条建议开始。",
  analyst: "分析师",
  placeholder: "给市场助手发消息…",
  suggestions: "建议",
  share: "分享",
  shows: {
    market: "步骤分组、引用、表格",
    buy: "下单前先确认",
    portfolio: "不清楚时会提问",
    chart: "图表",
    analyst: "子代理、引用",
    scan: "可随时停止的长任务",
    forecast: "出错与重试",
    account: "表单",
    file: "附件",
  },
  untitled: "新对话",
  menu: "打开列表",
  closeMenu: "关闭列表",
  language: "语言",
  theme: { system: "外观：跟随系统", light: "外观：浅色", dark: "外观：深色" },
  invented: "所有数据均为虚构。",
};
