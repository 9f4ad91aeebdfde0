/** Commands of a wire that can't carry them: by HTTP, with their answers as the frames that a socket would have brought. */
import type { SocketCommand } from "@turnstream/protocol/schema";
import { commandByHttp } from "../connection/http-command.ts";
import { ClientError } from "../errors.ts";
import type { Api } from "../http/api.ts";
import type { LinkCommand } from "../link.ts";
import type { Frame } from "../wires/wire.ts";

/** @returns whether it was carried out */
export async function sendByHttp(
  api: Api,
  command: SocketCommand,
  answer: (frame: Frame) => void,
): Promise<boolean> {
  const { request_id = "", ...rest } = command;
  try {
    answer({ type: "ack", request_id, ...(await commandByHttp(api, rest as LinkCommand)) });
    return true;
  } catch (error) {
    answer(refusal(request_id, error));
    return false;
  }
}

export function refusal(request_id: string, error: unknown): Frame {
  const why = error instanceof ClientError ? error : new ClientError("UNSURE", String(error));
  const { code, message, canRetry: can_retry, retryAfterSeconds: seconds } = why;
  const retry = seconds === null ? {} : { retry_after_seconds: seconds };
  return { type: "error", request_id, error: code, message, can_retry, ...retry };
}
