/** What can go wrong for a client: the server's words, and those that only a client can say. */
import type { ErrorCode } from "@turnstream/protocol";

/** OFFLINE: it was not sent. UNSURE: no answer came, and nobody knows. ABORTED: the caller gave up. */
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

/** An error of ours as it is; of anything else, what a caller can make of it. */
export function toClientError(
  error: unknown,
  code: ClientErrorCode,
  message: string,
  options: Omit<ClientErrorOptions, "cause"> = {},
): ClientError {
  return error instanceof ClientError ? error : new ClientError(code, message, { cause: error, ...options });
}
