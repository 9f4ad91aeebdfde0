/**
 * `cards` are the Simplified Chinese strings of cards and content.
 * Invariant: the type `CardStrings` requires every key of the English strings.
 */
import { countText } from "@turnstream/protocol";
import type { ApprovalStrings, CardStrings, FieldProblemString, PaymentStrings } from "../strings.ts";

export const cards: CardStrings = {
  send: "发送",
  sending: "正在发送…",
  cancel: "取消",
  required: "必填",
  timeLeft: (clock) => `剩余 ${clock}`,
  secondsLeft: countText("zh-CN", { other: "还有 # 秒可以答复。" }),
  reason: "原因（选填）",
  reasonGiven: (reason) => `原因：${reason}`,
  yes: "是",
  no: "否",
  none: "–",

  approvalTitle: (action) => `是否允许“${action}”？`,
  approve: "批准",
  approveAlways: "始终批准",
  edit: "修改",
  reject: "拒绝",
  approveEdited: "按修改内容批准",
  confirmReject: "拒绝",
  noArguments: "无参数",
  asJson: "JSON 格式的参数",
  notJson: "这不是有效的 JSON 对象。",
  notNumber: "这不是数字。",
  approvalKeys: "按 Y 批准，按 E 修改，按 N 拒绝。",
  approved: (who) => (who === "" ? "已批准" : `${who} 已批准`),
  approvedForGood: "在本次对话中始终有效",
  edited: (who) => (who === "" ? "已修改并批准" : `${who} 已修改并批准`),
  rejected: (who) => (who === "" ? "已拒绝" : `${who} 已拒绝`),
  timedOut: "未在时限内答复",
  withdrawn: "已不再需要",

  question: "问题",
  answer: "回答",
  skip: "跳过",
  freeText: "自行填写回答",
  chooseAny: "可多选",
  answered: (who) => (who === "" ? "已回答" : `${who} 已回答`),
  answeredByMessage: "已通过消息回答",
  dismissed: (who) => (who === "" ? "已跳过" : `${who} 已跳过`),

  submit: "提交",
  decline: "不填写",
  choose: "请选择…",
  chooseFile: "选择文件",
  removeFile: (name) => `移除 ${name}`,
  uploading: (percent) => `正在上传，${percent}`,
  uploadFailed: "文件上传失败。",
  draftSaved: "草稿已保存",
  submitted: (who) => (who === "" ? "已提交" : `${who} 已提交`),
  declined: (who) => (who === "" ? "已拒绝填写" : `${who} 已拒绝填写`),
  expired: "已过期",
  fixFields: countText("zh-CN", { other: "请检查 # 项。" }),

  payment: "付款",
  paymentStatus: {
    pending: "待付款",
    processing: "处理中",
    succeeded: "已付款",
    failed: "付款失败",
    cancelled: "已取消",
    expired: "已过期",
  },

  readingFiles: countText("zh-CN", { other: "正在读取 # 个文件" }),
  filesRead: countText("zh-CN", { other: "已读取 # 个文件" }),
  filesFailed: "部分文件无法读取",
  fileStatus: { processing: "读取中", completed: "已读取", failed: "无法读取" },
  file: "文件",

  chart: "图表",
  table: "表格",
  showChart: "图表",
  showTable: "表格",
  image: "图片",
  label: "标签",
  value: "数值",
  rowsOf: (shown, total) => `${shown} / ${total} 行`,
  download: "下载",
  downloadAll: "下载全部内容",
  cannotShow: "无法显示此内容。",
  data: "数据",

  code: (language) => (language === "" ? "代码" : `代码，${language}`),
  copy: "复制",
  copied: "已复制",
  leavesFor: (host) => `此链接指向 ${host}`,
  openLink: "打开",
  openAt: (host) => `打开 ${host}`,
  imageFrom: (host) => `来自 ${host} 的图片`,
  loadImage: "加载",
  noImage: "无法显示此图片",
  source: (number, title) => (title === "" ? `来源 ${number}` : `来源 ${number}：${title}`),
  sources: "来源",
  sourceMissing: "此来源已不可用。",
  wrap: "换行",
};

export const fieldProblem: FieldProblemString = ({ problem }, { min, max }) =>
  ({
    required: "此项为必填项。",
    wrong_type: "此处不能使用该值。",
    too_short: `至少 ${min} 个字符。`,
    too_long: `最多 ${max} 个字符。`,
    too_small: `不得小于 ${min}。`,
    too_large: `不得大于 ${max}。`,
    too_few: `至少选择 ${min} 项。`,
    too_many: `最多选择 ${max} 项。`,
    not_an_option: "请从选项中选择。",
    chosen_twice: "每个选项只能选择一次。",
    not_an_email: "请填写电子邮箱，例如 an@example.org。",
    not_a_phone: "请填写电话号码，例如 +86 138 0013 8000。",
    not_a_date: "请填写存在的日期。",
    not_uploaded: "请重新上传文件。",
    unknown_field: "表单中没有此项。",
    not_an_object: "无法发送此内容。",
  })[problem];

export const approvals: ApprovalStrings = {
  tool: (name) => `工具：${name}`,
  server: (name) => `服务器：${name}`,
  title: (title) => `服务器将此工具称为“${title}”。`,
  openFirst: "请先打开全部参数，再批准。",
  unavailable: "无法显示全部参数，因此无法批准。",
};

export const payments: PaymentStrings = {
  pay: "付款",
  continueCheckout: "继续付款",
  refresh: "刷新",
  isCurrent: "状态已是最新。",
  order: (orderNo) => `订单 ${orderNo}`,
  secondsLeft: countText("zh-CN", { other: "还有 # 秒可以付款。" }),

  cancel: "取消",
  confirmCancel: "取消这笔付款？",
  cancelPayment: "取消付款",
  keepPayment: "保留",

  outcome: {
    succeeded: "已收到付款。",
    failed: "付款未成功。",
    cancelled: (who) => (who === "" ? "付款已取消。" : `${who} 取消了付款。`),
    expired: "付款未在规定时间内完成。",
  },
};
