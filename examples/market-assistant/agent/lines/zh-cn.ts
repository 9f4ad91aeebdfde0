/** The agent's texts in Simplified Chinese. */
import type { Lines } from "./lines.ts";

export const zhCn: Lines = {
  locale: "zh-CN",
  language: "Simplified Chinese",
  labels: {
    index: "查看 VN-Index 和大盘股",
    price: (symbol) => `查看 ${symbol} 价格`,
    articles: "搜索 3 月 25 日市场新闻",
    movers: "查找涨跌幅最大的股票",
    portfolio: (account) => (account === "long_term" ? "查看长期账户" : "查看短期账户"),
    portfolioTable: "列出短期账户的持仓",
    chart: (symbol) => `绘制 ${symbol} 走势图`,
    order: (symbol) => `下单 ${symbol}`,
    scan: "扫描整个市场",
    account: "开立账户",
    analyst: "询问分析师",
    ratios: (symbol) => `计算 ${symbol} 市盈率并与行业比较`,
    reports: (symbol) => `阅读 ${symbol} 研究报告`,
  },
  found: {
    breadth: (up, down) => `${up} 只上涨，${down} 只下跌`,
    noSuchStock: (symbol) => `没有股票 ${symbol}`,
    noPermission: "没有权限",
    moverColumns: ["代码", "价格 (VND)", "涨跌 (%)"],
    holdingColumns: ["代码", "数量", "价格 (VND)", "盈亏 (VND)"],
    ordered: (order, count, symbol, price) =>
      `委托 ${order}：${count} 股 ${symbol}，最高价 ${price} VND，已发送至交易所。`,
    scanned: (done, all, found) => `已扫描 ${done}/${all}，发现 ${found} 只值得关注`,
    ratios: (pe, sectorPe, dividend) => `市盈率 ${pe}（行业 ${sectorPe}），股息率 ${dividend}%`,
    stocks: (count) => `${count} 只股票`,
    articles: (count) => `${count} 篇文章`,
    latest: [
      {
        title: "科技股领涨，VN-Index 收红",
        url: "https://press.example.com/vn-index-25-03",
        text: "VN-Index 上涨 0.42%，报 1,284.6 点。科技板块领涨，FPT 上涨 1.8%。",
      },
      {
        title: "成交额高于 20 日均值",
        url: "https://press.example.com/turnover-25-03",
        text: "成交额达 21.35 万亿越南盾，比 20 日均值高 12%。",
      },
      {
        title: "外资连续第三日净买入",
        url: "https://press.example.com/foreign-25-03",
        text: "外资净买入 4,120 亿越南盾，主要为 FPT、HPG 和 VCB。",
      },
    ],
    reports: [
      {
        title: "VNM：利润率回升",
        url: "https://research.example.com/vnm-q4",
        text: "奶粉价格下降，第四季度毛利率上升 1.3 个百分点。",
      },
      {
        title: "乳制品行业：增长缓慢，股息稳定",
        url: "https://research.example.com/dairy",
        text: "行业销量每年增长 2%；大公司股息率保持在 5% 以上。",
      },
    ],
  },
  titles: {
    movers: "涨跌幅最大的股票",
    portfolio: "短期账户",
    chart: (symbol) => `${symbol}，最近 7 个交易日`,
  },
  form: {
    title: "开立证券账户",
    description: "所填内容仅用于本演示。",
    name: "姓名",
    email: "电子邮箱",
    phone: "电话",
    birth: "出生日期",
    experience: "投资经验",
    levels: ["刚开始", "1–3 年", "3 年以上"],
    terms: "我同意条款",
  },
  script: {
    market: {
      think: "用户问今天的市场。需要指数、几只大盘股和当日新闻，然后简短总结。",
      first: "我先看看指数和几只大盘股。",
      second: "指数上涨。我再找找新闻，看看原因。",
      weigh: "科技股拉动指数，成交活跃，外资净买入。信息足够了。",
      answer: `今天市场**偏强**：

- **VN-Index** 报 **1,284.6 点**，上涨 0.42%，科技股领涨 [^1]。
- 成交额 **21.35 万亿越南盾**，比 20 日均值高 12% [^2]。
- 外资净买入 **4,120 亿越南盾**，连续第三日 [^3]。

其中 **VNM** 下跌 1.2%，报 **82,000 VND**。要我细看哪一只吗？`,
    },
    buy: {
      think: "先查价格和持仓。下单需要用户确认。",
      first: "我先查一下价格和您的持仓。",
      done: (result) =>
        `完成。${result}\n\n现价为 **82,000 VND**，低于您的限价。长期账户我没有权限查看，因此未计入。`,
      rejected: "我**没有下单**。VNM 仍为 82,000 VND；想买时再告诉我。",
    },
    portfolio: {
      question: "您想看哪个账户？",
      options: ["短期", "长期"],
      short: `短期账户目前**盈利 2,480,000 VND**：

| 代码 | 盈亏 |
| --- | ---: |
| FPT | +3,460,000 |
| HPG | +550,000 |
| MWG | −1,530,000 |

主要由 FPT 贡献，只有 MWG 亏损。`,
      long: "我**没有权限**查看长期账户。您可以在设置中授权，或改问短期账户。",
    },
    chart: {
      first: "马上画。",
      answer:
        "最近 7 个交易日，**VNM** 从 80,400 升至 **83,600**（3 月 23 日），再回到 **82,000 VND**，累计上涨 **2.0%**。",
    },
    analyst: {
      first: "我请分析师看一下。",
      task: "为持有者评估 VNM：估值、股息、风险。",
      think: "比较行业估值，并阅读最新报告。",
      opinion:
        "VNM 比行业便宜（市盈率 16.4 对 19.2），利润率回升 [^1]，股息率超过 5% [^2]。主要风险是增长缓慢。",
      answer: `分析师认为，如果看重股息，可以**继续持有** VNM：

1. **估值**：市盈率 16.4，低于行业的 19.2。
2. **利润**：第四季度毛利率上升 1.3 个百分点 [^1]。
3. **股息**：每年超过 5%，但行业增长缓慢 [^2]。

> 数据为虚构，不构成投资建议。`,
    },
    scan: {
      first: "大约需要一分钟。您可以随时点**停止**。",
      answer: "扫描完成。相对行业最便宜的三只是 **VNM**、**HPG** 和 **VCB**。要细看哪一只？",
    },
    forecast: {
      think: "先看指数现在的位置。",
      answer:
        "如果成交额保持在 20 万亿以上，**VN-Index** 下周可能在 **1,275–1,300 点**附近波动，最近的支撑在 1,270。\n\n> 虚构的预测，请勿据此交易。",
    },
    account: {
      first: "开户需要一些资料。",
      done: (name) => `谢谢您，**${name}**！资料已提交，下一个工作日前您会收到确认邮件。`,
      declined: "没关系。想开户时再告诉我。",
    },
    file: {
      think: "有附件。我读完再总结。",
      sample: `三月对账单共有 **8 笔交易**：

- **买入**：3 笔，共 **45,855,000 VND**（FPT、HPG、VNM）
- **卖出**：2 笔，共 **29,830,000 VND**（MWG、VCB）
- **股息**：VNM 420,000 VND
- **费用和税**：143,000 VND

期末余额为 **52,167,000 VND**。`,
      other: (lines, start) =>
        `文件约有 **${lines} 行**，开头如下：\n\n\`\`\`text\n${start}\n\`\`\`\n\n我只是按脚本回答，只能读到这里；设置 \`ANTHROPIC_API_KEY\` 或 \`OPENAI_API_KEY\` 可得到真正的总结。`,
    },
    price: (symbol) => `上面是 **${symbol}** 3 月 25 日的价格。要看走势图吗？`,
    help: `我是本示例的**脚本模型**，只会这些：

- 今天的市场、单只股票价格（VNM、FPT、HPG、VCB、MWG）
- 买入、持仓、走势图
- 分析师、扫描、预测
- 开户、总结文件

设置 \`ANTHROPIC_API_KEY\` 或 \`OPENAI_API_KEY\` 后重新启动，即可与真实模型对话。`,
  },
};
