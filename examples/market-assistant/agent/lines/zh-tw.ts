/** The agent's texts in Traditional Chinese. */
import type { Lines } from "./lines.ts";

export const zhTw: Lines = {
  locale: "zh-TW",
  language: "Traditional Chinese, as in Taiwan",
  labels: {
    index: "查看 VN-Index 和大型股",
    price: (symbol) => `查看 ${symbol} 股價`,
    articles: "搜尋 3 月 25 日市場新聞",
    movers: "查找漲跌幅最大的股票",
    portfolio: (account) => (account === "long_term" ? "查看長期帳戶" : "查看短期帳戶"),
    portfolioTable: "列出短期帳戶的持股",
    chart: (symbol) => `繪製 ${symbol} 走勢圖`,
    order: (symbol) => `下單 ${symbol}`,
    scan: "掃描整個市場",
    account: "開立帳戶",
    analyst: "詢問分析師",
    ratios: (symbol) => `計算 ${symbol} 本益比並與同業比較`,
    reports: (symbol) => `閱讀 ${symbol} 研究報告`,
  },
  found: {
    breadth: (up, down) => `${up} 檔上漲，${down} 檔下跌`,
    noSuchStock: (symbol) => `沒有股票 ${symbol}`,
    noPermission: "沒有權限",
    moverColumns: ["代號", "股價 (VND)", "漲跌 (%)"],
    holdingColumns: ["代號", "股數", "股價 (VND)", "損益 (VND)"],
    ordered: (order, count, symbol, price) =>
      `委託 ${order}：${count} 股 ${symbol}，最高價 ${price} VND，已送到交易所。`,
    scanned: (done, all, found) => `已掃描 ${done}/${all}，找到 ${found} 檔值得留意`,
    ratios: (pe, sectorPe, dividend) => `本益比 ${pe}（同業 ${sectorPe}），殖利率 ${dividend}%`,
    stocks: (count) => `${count} 檔股票`,
    articles: (count) => `${count} 篇文章`,
    latest: [
      {
        title: "科技股領漲，VN-Index 收高",
        url: "https://press.example.com/vn-index-25-03",
        text: "VN-Index 上漲 0.42%，收 1,284.6 點。科技類股領漲，FPT 上漲 1.8%。",
      },
      {
        title: "成交金額高於 20 日均值",
        url: "https://press.example.com/turnover-25-03",
        text: "成交金額達 21.35 兆越南盾，比 20 日均值高 12%。",
      },
      {
        title: "外資連續第三日買超",
        url: "https://press.example.com/foreign-25-03",
        text: "外資買超 4,120 億越南盾，主要為 FPT、HPG 和 VCB。",
      },
    ],
    reports: [
      {
        title: "VNM：利潤率回升",
        url: "https://research.example.com/vnm-q4",
        text: "奶粉價格下降，第四季毛利率上升 1.3 個百分點。",
      },
      {
        title: "乳品業：成長緩慢，股利穩定",
        url: "https://research.example.com/dairy",
        text: "產業銷量每年成長 2%；大公司的殖利率維持在 5% 以上。",
      },
    ],
  },
  titles: {
    movers: "漲跌幅最大的股票",
    portfolio: "短期帳戶",
    chart: (symbol) => `${symbol}，最近 7 個交易日`,
  },
  form: {
    title: "開立證券帳戶",
    description: "填寫的內容只用於本示範。",
    name: "姓名",
    email: "電子郵件",
    phone: "電話",
    birth: "出生日期",
    experience: "投資經驗",
    levels: ["剛開始", "1–3 年", "3 年以上"],
    terms: "我同意條款",
  },
  script: {
    market: {
      think: "使用者問今天的市場。需要指數、幾檔大型股和當日新聞，然後簡短整理。",
      first: "我先看看指數和幾檔大型股。",
      second: "指數上漲。我再找新聞，看看原因。",
      weigh: "科技股帶動指數，成交熱絡，外資買超。資訊足夠了。",
      answer: `今天市場**偏強**：

- **VN-Index** 收 **1,284.6 點**，上漲 0.42%，科技股領漲 [^1]。
- 成交金額 **21.35 兆越南盾**，比 20 日均值高 12% [^2]。
- 外資買超 **4,120 億越南盾**，連續第三日 [^3]。

其中 **VNM** 下跌 1.2%，收 **82,000 VND**。要我細看哪一檔嗎？`,
    },
    buy: {
      think: "先查股價和持股。下單需要使用者確認。",
      first: "我先查一下股價和您的持股。",
      done: (result) =>
        `完成。${result}\n\n現價是 **82,000 VND**，低於您的限價。長期帳戶我沒有權限查看，所以沒有計入。`,
      rejected: "我**沒有下單**。VNM 仍是 82,000 VND；想買時再告訴我。",
    },
    portfolio: {
      question: "您想看哪個帳戶？",
      options: ["短期", "長期"],
      short: `短期帳戶目前**獲利 2,480,000 VND**：

| 代號 | 損益 |
| --- | ---: |
| FPT | +3,460,000 |
| HPG | +550,000 |
| MWG | −1,530,000 |

主要來自 FPT，只有 MWG 虧損。`,
      long: "我**沒有權限**查看長期帳戶。您可以在設定中授權，或改問短期帳戶。",
    },
    chart: {
      first: "馬上畫。",
      answer:
        "最近 7 個交易日，**VNM** 從 80,400 升至 **83,600**（3 月 23 日），再回到 **82,000 VND**，累計上漲 **2.0%**。",
    },
    analyst: {
      first: "我請分析師看一下。",
      task: "為持有者評估 VNM：評價、股利、風險。",
      think: "與同業比較評價，並閱讀最新報告。",
      opinion:
        "VNM 比同業便宜（本益比 16.4 對 19.2），利潤率回升 [^1]，殖利率超過 5% [^2]。主要風險是成長緩慢。",
      answer: `分析師認為，如果重視股利，可以**繼續持有** VNM：

1. **評價**：本益比 16.4，低於同業的 19.2。
2. **獲利**：第四季毛利率上升 1.3 個百分點 [^1]。
3. **股利**：每年超過 5%，但產業成長緩慢 [^2]。

> 資料為虛構，不構成投資建議。`,
    },
    scan: {
      first: "大約需要一分鐘。您可以隨時按**停止**。",
      answer: "掃描完成。相對同業最便宜的三檔是 **VNM**、**HPG** 和 **VCB**。要細看哪一檔？",
    },
    forecast: {
      think: "先看指數現在的位置。",
      answer:
        "如果成交金額維持在 20 兆以上，**VN-Index** 下週可能在 **1,275–1,300 點**附近波動，最近的支撐在 1,270。\n\n> 虛構的預測，請勿據此交易。",
    },
    account: {
      first: "開戶需要一些資料。",
      done: (name) => `謝謝您，**${name}**！資料已送出，下一個工作日前您會收到確認信。`,
      declined: "沒關係。想開戶時再告訴我。",
    },
    file: {
      think: "有附件。我讀完再整理。",
      sample: `三月對帳單共有 **8 筆交易**：

- **買進**：3 筆，共 **45,855,000 VND**（FPT、HPG、VNM）
- **賣出**：2 筆，共 **29,830,000 VND**（MWG、VCB）
- **股利**：VNM 420,000 VND
- **費用和稅**：143,000 VND

期末餘額是 **52,167,000 VND**。`,
      other: (lines, start) =>
        `檔案約有 **${lines} 行**，開頭如下：\n\n\`\`\`text\n${start}\n\`\`\`\n\n我只是照腳本回答，只能讀到這裡；設定 \`ANTHROPIC_API_KEY\` 或 \`OPENAI_API_KEY\` 可得到真正的摘要。`,
    },
    price: (symbol) => `上面是 **${symbol}** 3 月 25 日的股價。要看走勢圖嗎？`,
    help: `我是本示範的**腳本模型**，只會這些：

- 今天的市場、單一股價（VNM、FPT、HPG、VCB、MWG）
- 買進、持股、走勢圖
- 分析師、掃描、預測
- 開戶、摘要檔案

設定 \`ANTHROPIC_API_KEY\` 或 \`OPENAI_API_KEY\` 後重新啟動，就能與真正的模型對話。`,
  },
};
