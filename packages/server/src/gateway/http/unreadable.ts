/** What Node could not read as a request, as an answer in the one shape of errors. Pure; nobody is logged or let in by it. */
import { Refused } from "../refused.ts";
import type { HttpAnswer } from "./messages.ts";
import { refusal } from "./handle-request.ts";

/** @param code of the error that Node gives with it */
export function unreadable(code: string | undefined): HttpAnswer {
  if (code === "HPE_HEADER_OVERFLOW")
    return { ...told(new Refused("TOO_LARGE", "The headers or the address are too long.")), status: 431 };
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return { ...told(new Refused("BAD_REQUEST", "The request took too long to come.")), status: 408 };
  return told(new Refused("BAD_REQUEST", "This is not a well-formed request of HTTP/1.1."));
}

function told(refused: Refused): HttpAnswer {
  return refusal({ onError: () => undefined }, refused);
}
