/** `findTopic` finds the topic of a message by the text of a suggestion, otherwise by keywords. Pure. */
import { SUGGESTIONS, type Topic, TOPICS } from "../../shared/suggestions.ts";
import { STOCKS } from "../data.ts";

/** The first match wins. */
const PATTERNS: readonly (readonly [Topic, RegExp])[] = [
  ["file", /tệp|sao kê|file|statement|文件|对账单|檔案|對帳單/i],
  ["account", /mở tài khoản|open .*account|开.*户|開.*戶/i],
  ["buy", /\bmua\b|\bbán\b|\bbuy\b|\bsell\b|买|卖|買|賣/i],
  ["chart", /biểu đồ|vẽ|chart|draw|走势|图|走勢|圖/i],
  ["analyst", /chuyên gia|phân tích|analy|分析/i],
  ["scan", /quét|scan|扫描|掃描/i],
  ["forecast", /dự báo|forecast|predict|预测|預測/i],
  ["portfolio", /danh mục|portfolio|lãi|lỗ|持仓|盈亏|持股|損益/i],
  ["market", /thị trường|market|vn-?index|市场|大盘|市場|大盤/i],
];

/** @returns a topic, the symbol of a stock whose price is requested, or null */
export function findTopic(text: string): Topic | { readonly symbol: string } | null {
  const prompt = text.trim();
  for (const suggestions of Object.values(SUGGESTIONS))
    for (const topic of TOPICS) if (prompt.startsWith(suggestions[topic])) return topic;
  const named = PATTERNS.find(([, pattern]) => pattern.test(prompt));
  if (named !== undefined) return named[0];
  const stock = STOCKS.find(({ symbol }) => new RegExp(`\\b${symbol}\\b`, "i").test(prompt));
  return stock === undefined ? null : { symbol: stock.symbol };
}
