/**
 * `ClientError` is the error of every failed operation, with the server's codes and three codes of the client.
 * Invariant: OFFLINE means that the command was not sent, UNSURE that its outcome is unknown. Callers decide by this
 * whether a repeat is safe. A new code needs a text in the strings of `@turnstream/react`.
 */
import type { ErrorCode } from "@turnstream/protocol";

/**
 * OFFLINE: the command was not sent. UNSURE: no reply arrived, so the outcome is unknown. ABORTED: the caller cancelled
 * it.
 */
export type ClientErrorCode = ErrorCode | "OFFLINE" | "UNSURE" | "ABORTED";

export interface ClientErrorOptions extends ErrorOptions {
  readonly canRetry?: boolean;
  readonly retryAfterSeconds?: number;
}

export class ClientError extends Error {
  readonly code: ClientErrorCode;
  readonly canRetry: boolean;
  readonly retryAfterSeconds: number | null;

  constructor(code: ClientErrorCode, message: string, options: ClientErrorOptions = {}) {
    super(message, options);
    this.name = "ClientError";
    this.code = code;
    this.canRetry = options.canRetry ?? false;
    this.retryAfterSeconds = options.retryAfterSeconds ?? null;
  }
}

/** The page and the server are more than one version apart. */
export function otherVersionError(): ClientError {
  return new ClientError("BAD_REQUEST", "The server has another version. Reload the page.");
}

/** Returns a ClientError unchanged and wraps any other error. */
export function toClientError(
  error: unknown,
  code: ClientErrorCode,
  message: string,
  options: Omit<ClientErrorOptions, "cause"> = {},
): ClientError {
  return error instanceof ClientError ? error : new ClientError(code, message, { cause: error, ...options });
}
