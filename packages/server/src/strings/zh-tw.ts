/**
 * `zhTw` are the Traditional Chinese texts of the runtime.
 *
 * Invariant: the type requires every text that English has.
 */
import { countText } from "@turnstream/protocol";
import type { ReachedLimit, RuntimeStrings } from "./runtime-strings.ts";

const count = (other: string) => countText("zh-TW", { other });
const number = count("#");
const LIMITS: Readonly<Record<ReachedLimit["limit"], (value: number) => string>> = {
  steps: count("# 個步驟"),
  tokens: count("# 個 token"),
  events: count("# 個事件"),
  seconds: count("# 秒"),
  cost: count("費用 #"),
};

export const zhTw: RuntimeStrings = {
  stopped: "您已停止此回覆。傳送新訊息即可繼續。",
  thinkingLabel: "思考",
  errors: {
    SERVER_ERROR: "伺服器發生錯誤，請再試一次。",
    LLM_ERROR: "模型沒有回覆，請再試一次。",
    LLM_RATE_LIMITED: "模型忙碌中，請稍後再試。",
    LLM_REFUSED: "模型拒絕回覆，請換個說法。",
    CONTEXT_TOO_LONG: "對話過長，模型無法處理，請開始新的對話。",
    OUTCOME_UNKNOWN: "操作遭到中斷，不確定是否已生效，請確認。",
    USAGE_LIMIT_REACHED: "已達當日或當月的用量上限，回覆已結束，請稍後再試。",
  },
  notRetryable: "目前無法回覆，需由服務的營運人員處理。",
  crashed: "多次嘗試後仍無法完成這個回答。你可以再試一次。",
  toolFailed: "操作未成功。",
  rejected: "您已拒絕。",
  formRequested: "需要填寫表單。",
  notApproved: "未在時限內獲得核准。",
  truncatedArguments: (shown, of) => `[於此截斷：顯示 ${number(of)} 個字元中的 ${number(shown)} 個。]`,
  limit: ({ limit, value }) => `回覆已達上限（${LIMITS[limit](value)}），因此結束。`,
  historyLost: "資料庫故障後，伺服器遺失了此輪之前的部分對話。那段時間的訊息和決定可能需要重新提交。",
  retrying: (seconds, attempt, tries) =>
    `模型沒有回應，${number(seconds)} 秒後重試（第 ${number(attempt)} 次，共 ${number(tries)} 次）。`,
  readingFile: (name) => `正在讀取 ${name}`,
  fileFailed: (name, problem) =>
    `無法讀取 ${name}：${
      {
        NOT_ALLOWED: "無法使用此網址",
        NOT_FOUND: "該處沒有內容",
        TOO_LARGE: "檔案過大",
        TOO_MANY: "一次的檔案過多",
        TIMEOUT: "花費時間過長",
        UNREACHABLE: "無法連線至其伺服器",
        UNSUPPORTED: "不支援此類檔案",
        UNREADABLE: "檔案已損毀或遭鎖定",
      }[problem]
    }。`,
  fileCut: (name) => `${name} 過長，只讀取了開頭部分。`,
  filesRead: (read, of, cut) => {
    const done = read === of ? `已讀取 ${number(of)} 個檔案` : `已讀取 ${number(read)}/${number(of)} 個檔案`;
    return cut === 0 ? done : `${done}（其中 ${number(cut)} 個只讀取了開頭）`;
  },
  conversationSummarized: "已總結先前的對話",
};
