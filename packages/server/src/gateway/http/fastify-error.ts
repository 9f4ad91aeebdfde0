/** What Fastify itself refuses before a request reaches us, as a refusal of ours. Pure. Anything else stays what it is. */
import { Refused } from "../refused.ts";

export function fastifyError(error: unknown): unknown {
  if (!(error instanceof Error) || !("statusCode" in error) || !("code" in error)) return error;
  const { statusCode: status, code } = error;
  const isTheirs = typeof status === "number" && status >= 400 && status < 500;
  return isTheirs && String(code).startsWith("FST_")
    ? new Refused(
        "BAD_REQUEST",
        "The request is not well-formed. Look at its headers, content-type above all.",
      )
    : error;
}
