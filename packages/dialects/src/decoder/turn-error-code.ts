/** `toTurnErrorCode` converts a code of a server to a code that a turn can fail with. */
import { TURN_ERROR_CODES, type TurnErrorCode } from "@turnstream/protocol/writer";

export function toTurnErrorCode(code: string): TurnErrorCode {
  return TURN_ERROR_CODES.find((known) => known === code) ?? "SERVER_ERROR";
}
