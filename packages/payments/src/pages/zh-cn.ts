/**
 * `zhCn` are the texts of the payment pages in Simplified Chinese.
 * Invariant: they mean the same as the texts of `en.ts`.
 */
import { countText } from "@turnstream/protocol";
import type { PageStrings } from "./en.ts";

export const zhCn: PageStrings = {
  locale: "zh-CN",
  amount: "金额",
  order: "订单号",
  continueButton: "前往支付",
  checkout: {
    title: "支付",
    text: "支付将在支付服务商的页面进行。",
  },
  leaving: {
    title: "正在打开支付页面",
    text: "如果没有反应，请点击下方按钮。",
  },
  statuses: {
    pending: {
      title: "尚未支付",
      text: "这笔支付尚未开始。",
    },
    processing: {
      title: "等待确认中",
      text: "这笔支付尚未确认，本页会自动更新。您也可以关闭本页，结果会显示在对话中。",
    },
    succeeded: {
      title: "支付成功",
      text: "谢谢您，我们已收到您的付款。",
    },
    failed: {
      title: "支付失败",
      text: "这笔支付未成功。",
    },
    cancelled: {
      title: "支付已取消",
      text: "这笔支付已取消，无法再支付。",
    },
    expired: {
      title: "支付已过期",
      text: "这笔支付未在期限内完成，无法再支付。",
    },
  },
  closePage: "您可以关闭本页并返回对话。",
  refunded: "已退款",
  lateSuccess: "我们在这笔支付结束后才收到款项，工作人员会核查。请勿重复支付。",
  minutesLeft: countText("zh-CN", { other: "支付时间剩余 # 分钟" }),
  notFound: {
    title: "找不到这笔支付",
    text: "链接不完整，或这笔支付已不存在。请从对话中重新打开。",
  },
  unavailable: {
    title: "目前无法使用",
    text: "目前无法打开支付页面。请一分钟后再试。",
  },
  tryAgain: "重试",
};
