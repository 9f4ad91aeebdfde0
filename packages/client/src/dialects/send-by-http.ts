/** Commands of a wire that can't carry them: by HTTP, with their answers as the frames that a socket would have brought. */
import type { SocketCommand } from "@turnstream/protocol/schema";
import { commandByHttp } from "../http/commands.ts";
import { asClientError } from "../errors.ts";
import type { Api } from "../http/api.ts";
import type { LinkCommand } from "../transport/transport.ts";
import { errorFrame, type Frame } from "../transport/channel.ts";

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
  return errorFrame(request_id, asClientError(error, "UNSURE", String(error)));
}
