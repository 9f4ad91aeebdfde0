/**
 * `thread`, `chat` and `errors` are the Traditional Chinese strings of the thread, of the whole chat and of errors.
 * Invariant: their types require every key of the English strings and a text for every error code.
 */
import { countText } from "@turnstream/protocol";
import type { ChatStrings, ComposerStrings, ErrorStrings, ThreadStrings } from "../strings.ts";

export const thread: ThreadStrings = {
  conversation: "對話",
  loadEarlier: "顯示較早的訊息",
  loadingEarlier: "正在載入較早的訊息…",
  loadEarlierFailed: "無法載入較早的訊息。",
  toNewest: "前往最新訊息",
  tryAgain: "再試一次",
  loadFailed: "頁面的一部分載入失敗。請再試一次，或重新載入頁面。",
  you: "您",
  author: "作者",

  working: "處理中…",
  done: "已完成",
  thinking: "思考中…",
  thought: "思考過程",
  steps: countText("zh-TW", { other: "# 個步驟" }),
  results: countText("zh-TW", { other: "# 筆結果" }),
  failedSteps: countText("zh-TW", { other: "# 個步驟失敗" }),
  seconds: (n) => `${n} 秒`,
  minutes: (minutes, seconds) => `${minutes} 分 ${seconds} 秒`,

  request: "要求",
  response: "回應",
  edited: "已由您修改",
  showAll: "顯示全部",
  toolStatus: { pending: "執行中", done: "已完成", error: "失敗", stopped: "已停止", waiting: "等待您操作" },
  subAgent: (name) => `${name} 的工作`,

  stopped: "您已停止。傳送新訊息即可繼續。",
  failed: "發生錯誤，已完成的步驟已儲存。",
  notRetryable: "目前無法回覆，需由服務的營運人員處理。",
  limitReached: (limit) => `回覆已達上限（${limit}），因此結束。`,
  limits: {
    steps: countText("zh-TW", { other: "# 個步驟" }),
    tokens: countText("zh-TW", { other: "# 個 token" }),
    events: countText("zh-TW", { other: "# 個事件" }),
    seconds: countText("zh-TW", { other: "# 秒" }),
    cost: countText("zh-TW", { other: "費用 #" }),
  },
  lostTurns: "伺服器故障，此對話的最新訊息已遺失。",
  resuming: "回覆中斷，即將繼續…",
  noWorker: "沒有 worker 在執行。啟動後會回覆此訊息。",
  retry: "再試一次",

  messageStatus: {
    queued: "排隊中",
    waiting: "恢復連線後傳送",
    sending: "傳送中…",
    failed: "未能傳送",
  },
  cancel: "收回",
  discard: "捨棄",
  resend: "重新傳送",

  placeholder: "輸入訊息…",
  message: "訊息",
  send: "傳送",
  stop: "停止",
  attach: "附加檔案",
  dropFiles: "將檔案拖曳到這裡",
  removeFile: (name) => `移除 ${name}`,
  uploading: (name) => `正在上傳 ${name}`,
  uploadFailed: "上傳失敗",
  files: "檔案",

  connection: {
    connecting: "連線中…",
    replaying: "同步中…",
    resyncing: "同步中…",
    waiting: "連線中斷，正在重新連線…",
    waitingFor: (seconds) => `連線中斷，${seconds} 秒後重試。`,
    offline: "您已離線，恢復連線後對話會繼續。",
    closed: "連線已關閉。",
    retryNow: "立即重試",
  },

  announce: {
    started: (agent) => `${agent} 處理中。`,
    needsApproval: (what) => `需要您核准：${what}。`,
    needsAnswer: (what) => `有問題要請您回答：${what}`,
    needsForm: (what) => `有表單需要填寫：${what}。`,
    needsPayment: (what) => `有待付款項：${what}。`,
    paymentChanged: (what, status) => `付款「${what}」：${status}。`,
    done: (agent) => `${agent} 已完成回覆。`,
    stopped: "已停止。",
    failed: (what) => `發生錯誤。${what}`,
  },

  welcome: "有什麼可以協助您？",
  suggestions: "建議",
};

export const chat: ChatStrings = {
  sessions: "對話",
  newSession: "新對話",
  untitled: "未命名的對話",
  noSessions: "您的對話將顯示在這裡。",
  loading: "載入中…",
  moreSessions: "顯示更多",
  openList: "開啟對話清單",
  closeList: "關閉對話清單",

  rename: (title) => `重新命名「${title}」`,
  newTitle: "新名稱",
  save: "儲存",
  renamed: "對話已重新命名。",

  delete: (title) => `刪除「${title}」`,
  deleteQuestion: "要永久刪除這個對話嗎？",
  deleteConfirm: "刪除",
  cancel: "取消",
  deleted: "對話已刪除。",

  missing: "這個對話已不存在。您可以開始新的對話。",
  signedOut: "您已登出。請登入以檢視您的對話。",
};

/** Texts of refused files and of the choice of an agent, in Traditional Chinese. */
export const composer: ComposerStrings = {
  notAdded: (names, reason) => `未加入：${names}。${reason}`,
  moreFiles: countText("zh-TW", { other: "另外 # 個檔案" }),
  accepted: (kinds) => `可用的類型：${kinds}。`,
  noFiles: "這裡不能加入檔案。",
  maxSize: (size) => `每個檔案最大 ${size}。`,
  maxFiles: countText("zh-TW", { other: "每則訊息最多 # 個檔案。" }),
  kinds: { image: "圖片", audio: "音訊", video: "影片", text: "文字" },
  dismiss: "關閉",
  agent: "助理",
};

/** Traditional Chinese texts of errors. */
export const errors: ErrorStrings = {
  byCode: {
    OFFLINE: "沒有連線，內容尚未傳送。",
    UNSURE: "收到回應前連線已中斷，要求可能已成功。",
    ABORTED: "操作在完成前已取消。",
    SERVER_ERROR: "伺服器發生錯誤，請稍後再試。",
    BAD_REQUEST: "伺服器拒絕了此內容，請修改或重新載入頁面。",
    UNAUTHENTICATED: "請重新登入後繼續。",
    FORBIDDEN: "您沒有執行此操作的權限。",
    NOT_FOUND: "內容已不存在，或您無權存取。",
    CONFLICT: "其他使用者已先行操作，請查看目前狀態。",
    RATE_LIMITED: "您已達到使用上限，請稍後再試。",
    TOO_LARGE: "內容過大，請減少後再傳送。",
    STREAM_TIMEOUT: "伺服器太久沒有回應，請再試一次。",
    CURSOR_INVALID: "此頁面已不同步，請重新載入。",
    CURSOR_EXPIRED: "此頁面中斷連線過久，請重新載入。",
    STREAM_CLOSED: "伺服器正在重新啟動，回覆稍後會繼續。",
    LLM_ERROR: "模型未能回覆，請再試一次。",
    LLM_RATE_LIMITED: "模型忙碌中，請稍後再試。",
    LLM_REFUSED: "模型拒絕了此內容，請換個說法。",
    CONTEXT_TOO_LONG: "對話過長，模型無法處理，請開始新的對話。",
    TOOL_ERROR: "工具發生錯誤，請再試一次。",
    LIMIT_REACHED: "已達上限。",
    OUTCOME_UNKNOWN: "操作遭到中斷，請確認是否已生效。",
    USAGE_LIMIT_REACHED: "已達當日或當月的用量上限，請稍後再試。",
    INTERACTION_CLOSED: "此要求已有決定，或已超過時限。",
    INTERACTION_MISMATCH: "內容已有變更，請檢查後再決定。",
  },
  other: (message) => `操作未成功：${message}`,
};
