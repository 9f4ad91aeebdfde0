/**
 * `SUGGESTIONS` lists the messages that an empty page suggests. Each shows a feature of Turnstream. The scripted model
 * recognizes them by their exact text, and other messages by keywords. Data only.
 */
import type { Locale } from "./locales.ts";

export const TOPICS = [
  "market",
  "buy",
  "portfolio",
  "chart",
  "analyst",
  "scan",
  "forecast",
  "account",
  "file",
] as const;

export type Topic = (typeof TOPICS)[number];

export const SUGGESTIONS: Readonly<Record<Locale, Readonly<Record<Topic, string>>>> = {
  vi: {
    market: "Thị trường hôm nay thế nào?",
    buy: "Mua giúp mình 100 cổ VNM nếu giá dưới 83.000.",
    portfolio: "Danh mục của mình đang lãi hay lỗ?",
    chart: "Vẽ biểu đồ VNM 7 phiên gần nhất.",
    analyst: "Có nên giữ VNM không? Hỏi chuyên gia giúp mình.",
    scan: "Quét cả 1.600 mã để tìm cổ phiếu giá tốt.",
    forecast: "Dự báo VN-Index tuần tới giúp mình.",
    account: "Mình muốn mở tài khoản chứng khoán.",
    file: "Tóm tắt sao kê tháng 3 này giúp mình.",
  },
  en: {
    market: "How is the market today?",
    buy: "Buy 100 VNM for me if it is below 83,000.",
    portfolio: "Is my portfolio up or down?",
    chart: "Draw VNM over the last 7 sessions.",
    analyst: "Should I keep VNM? Ask the analyst.",
    scan: "Scan all 1,600 stocks for good prices.",
    forecast: "Forecast VN-Index for next week.",
    account: "I want to open a trading account.",
    file: "Sum up this March statement for me.",
  },
  "zh-CN": {
    market: "今天市场怎么样？",
    buy: "如果 VNM 低于 83,000，帮我买 100 股。",
    portfolio: "我的持仓是赚还是亏？",
    chart: "画出 VNM 最近 7 个交易日的走势。",
    analyst: "VNM 要不要继续持有？请问问分析师。",
    scan: "扫描全部 1,600 只股票，找便宜的。",
    forecast: "预测一下下周的 VN-Index。",
    account: "我想开一个证券账户。",
    file: "帮我总结这份三月对账单。",
  },
  "zh-TW": {
    market: "今天市場怎麼樣？",
    buy: "如果 VNM 低於 83,000，幫我買 100 股。",
    portfolio: "我的持股是賺還是賠？",
    chart: "畫出 VNM 最近 7 個交易日的走勢。",
    analyst: "VNM 要不要繼續持有？請問問分析師。",
    scan: "掃描全部 1,600 檔股票，找便宜的。",
    forecast: "預測一下下週的 VN-Index。",
    account: "我想開一個證券帳戶。",
    file: "幫我整理這份三月對帳單。",
  },
};
