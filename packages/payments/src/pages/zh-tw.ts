/**
 * `zhTw` are the texts of the payment pages in Traditional Chinese, as used in Taiwan.
 * Invariant: they mean the same as the texts of `en.ts`.
 */
import { countText } from "@turnstream/protocol";
import type { PageStrings } from "./en.ts";

export const zhTw: PageStrings = {
  locale: "zh-TW",
  amount: "金額",
  order: "訂單編號",
  continueButton: "前往付款",
  checkout: {
    title: "付款",
    text: "付款將在金流服務商的頁面進行。",
  },
  leaving: {
    title: "正在開啟付款頁面",
    text: "如果沒有反應，請按下方按鈕。",
  },
  statuses: {
    pending: {
      title: "尚未付款",
      text: "這筆付款尚未開始。",
    },
    processing: {
      title: "等待確認中",
      text: "這筆付款尚未確認，本頁會自動更新。您也可以關閉本頁，結果會顯示在對話中。",
    },
    succeeded: {
      title: "已收到付款",
      text: "謝謝您，付款成功。",
    },
    failed: {
      title: "付款失敗",
      text: "這筆付款未成功。",
    },
    cancelled: {
      title: "付款已取消",
      text: "這筆付款已取消，無法再付款。",
    },
    expired: {
      title: "付款已過期",
      text: "這筆付款未在期限內完成，無法再付款。",
    },
  },
  closePage: "您可以關閉本頁並回到對話。",
  refunded: "已退款",
  lateSuccess: "我們在這筆付款結束後才收到款項，工作人員會查核。請勿重複付款。",
  minutesLeft: countText("zh-TW", { other: "付款時間剩下 # 分鐘" }),
  notFound: {
    title: "找不到這筆付款",
    text: "連結不完整，或這筆付款已不存在。請從對話中重新開啟。",
  },
  unavailable: {
    title: "目前無法使用",
    text: "目前無法開啟付款頁面。請一分鐘後再試。",
  },
  tryAgain: "再試一次",
};
