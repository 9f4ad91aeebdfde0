/**
 * `cards` are the Traditional Chinese strings of cards and content.
 * Invariant: the type `CardStrings` requires every key of the English strings.
 */
import { countText } from "@turnstream/protocol";
import type { ApprovalStrings, CardStrings, FieldProblemString, PaymentStrings } from "../strings.ts";

export const cards: CardStrings = {
  send: "傳送",
  sending: "傳送中…",
  cancel: "取消",
  required: "必填",
  timeLeft: (clock) => `剩餘 ${clock}`,
  secondsLeft: countText("zh-TW", { other: "還有 # 秒可以回覆。" }),
  reason: "原因（選填）",
  reasonGiven: (reason) => `原因：${reason}`,
  yes: "是",
  no: "否",
  none: "–",

  approvalTitle: (action) => `是否允許「${action}」？`,
  approve: "核准",
  approveAlways: "一律核准",
  edit: "修改",
  reject: "拒絕",
  approveEdited: "依修改內容核准",
  confirmReject: "拒絕",
  noArguments: "無引數",
  asJson: "JSON 格式的引數",
  notJson: "這不是有效的 JSON 物件。",
  notNumber: "這不是數字。",
  approvalKeys: "按 Y 核准，按 E 修改，按 N 拒絕。",
  approved: (who) => (who === "" ? "已核准" : `${who} 已核准`),
  approvedForGood: "在此對話中持續有效",
  edited: (who) => (who === "" ? "已修改並核准" : `${who} 已修改並核准`),
  rejected: (who) => (who === "" ? "已拒絕" : `${who} 已拒絕`),
  timedOut: "未在時限內回覆",
  withdrawn: "已不再需要",

  question: "問題",
  answer: "回答",
  skip: "略過",
  freeText: "自行填寫回答",
  chooseAny: "可複選",
  answered: (who) => (who === "" ? "已回答" : `${who} 已回答`),
  answeredByMessage: "已透過訊息回答",
  dismissed: (who) => (who === "" ? "已略過" : `${who} 已略過`),

  submit: "送出",
  decline: "不填寫",
  choose: "請選擇…",
  chooseFile: "選擇檔案",
  removeFile: (name) => `移除 ${name}`,
  uploading: (percent) => `上傳中，${percent}`,
  uploadFailed: "檔案上傳失敗。",
  draftSaved: "草稿已儲存",
  submitted: (who) => (who === "" ? "已送出" : `${who} 已送出`),
  declined: (who) => (who === "" ? "已拒絕填寫" : `${who} 已拒絕填寫`),
  expired: "已過期",
  fixFields: countText("zh-TW", { other: "請檢查 # 個欄位。" }),

  payment: "付款",
  paymentStatus: {
    pending: "待付款",
    processing: "處理中",
    succeeded: "已付款",
    failed: "付款失敗",
    cancelled: "已取消",
    expired: "已過期",
  },

  readingFiles: countText("zh-TW", { other: "正在讀取 # 個檔案" }),
  filesRead: countText("zh-TW", { other: "已讀取 # 個檔案" }),
  filesFailed: "部分檔案無法讀取",
  fileStatus: { processing: "讀取中", completed: "已讀取", failed: "無法讀取" },
  file: "檔案",

  chart: "圖表",
  table: "表格",
  showChart: "圖表",
  showTable: "表格",
  image: "圖片",
  label: "標籤",
  value: "數值",
  rowsOf: (shown, total) => `${shown} / ${total} 列`,
  download: "下載",
  downloadAll: "下載全部內容",
  cannotShow: "無法顯示此內容。",
  data: "資料",

  code: (language) => (language === "" ? "程式碼" : `程式碼，${language}`),
  copy: "複製",
  copied: "已複製",
  leavesFor: (host) => `此連結前往 ${host}`,
  openLink: "開啟",
  openAt: (host) => `開啟 ${host}`,
  imageFrom: (host) => `來自 ${host} 的圖片`,
  loadImage: "載入",
  noImage: "無法顯示此圖片",
  source: (number, title) => (title === "" ? `來源 ${number}` : `來源 ${number}：${title}`),
  sources: "來源",
  sourceMissing: "此來源已無法使用。",
  wrap: "換行",
};

export const fieldProblem: FieldProblemString = ({ problem }, { min, max }) =>
  ({
    required: "此欄位為必填。",
    wrong_type: "此處不能使用該值。",
    too_short: `至少 ${min} 個字元。`,
    too_long: `最多 ${max} 個字元。`,
    too_small: `不得小於 ${min}。`,
    too_large: `不得大於 ${max}。`,
    too_few: `至少選擇 ${min} 項。`,
    too_many: `最多選擇 ${max} 項。`,
    not_an_option: "請從選項中選擇。",
    chosen_twice: "每個選項只能選擇一次。",
    not_an_email: "請填寫電子郵件地址，例如 an@example.org。",
    not_a_phone: "請填寫電話號碼，例如 +886 912 345 678。",
    not_a_date: "請填寫存在的日期。",
    not_uploaded: "請重新上傳檔案。",
    unknown_field: "表單中沒有此欄位。",
    not_an_object: "無法傳送此內容。",
  })[problem];

export const approvals: ApprovalStrings = {
  tool: (name) => `工具：${name}`,
  server: (name) => `伺服器：${name}`,
  title: (title) => `伺服器將此工具稱為「${title}」。`,
  openFirst: "請先開啟全部引數，再核准。",
  unavailable: "無法顯示全部引數，因此無法核准。",
};

export const payments: PaymentStrings = {
  pay: "付款",
  continueCheckout: "繼續付款",
  refresh: "更新狀態",
  isCurrent: "狀態已是最新。",
  order: (orderNo) => `訂單 ${orderNo}`,
  secondsLeft: countText("zh-TW", { other: "還有 # 秒可以付款。" }),

  cancel: "取消",
  confirmCancel: "要取消這筆付款嗎？",
  cancelPayment: "取消付款",
  keepPayment: "保留",

  outcome: {
    succeeded: "已收到付款。",
    failed: "付款未成功。",
    cancelled: (who) => (who === "" ? "付款已取消。" : `${who} 取消了付款。`),
    expired: "付款未在期限內完成。",
  },
};
