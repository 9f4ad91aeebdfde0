/**
 * `ClientError` is the error of every failed operation, with the server's codes and three codes of the client.
 * Invariant: OFFLINE means that the command was not sent, UNSURE that its outcome is unknown. Callers decide by this
 * whether a repeat is safe. `url` contains no secret: no query, no credentials and no token of a share. A new code needs
 * a text in the strings of `@turnstream/react`.
 */
import type { ErrorCode } from "@turnstream/protocol";

/**
 * OFFLINE: the command was not sent. UNSURE: no reply arrived, so the outcome is unknown. ABORTED: the caller cancelled
 * it.
 */
export type ClientErrorCode = ErrorCode | "OFFLINE" | "UNSURE" | "ABORTED";

export interface ClientErrorOptions extends ErrorOptions {
  readonly canRetry?: boolean;
  readonly retryAfterSeconds?: number | null;
  readonly status?: number | null;
  /** The constructor removes secrets from it. */
  readonly url?: string | null;
  readonly requestId?: string | null;
}

/** A `ClientError` as JSON, for logs and the storage. `cause` is a text. */
export type ClientErrorJson = Pick<ClientError, "code" | "message" | keyof ClientErrorOptions>;

export class ClientError extends Error {
  readonly code: ClientErrorCode;
  readonly canRetry: boolean;
  readonly retryAfterSeconds: number | null;
  /** The HTTP status of the response; null if the error is not a response. */
  readonly status: number | null;
  /** The address of the request, without its query; null if there was none. */
  readonly url: string | null;
  /** The id of the request in the logs of the server; null if there was no reply. */
  readonly requestId: string | null;

  constructor(code: ClientErrorCode, message: string, options: ClientErrorOptions = {}) {
    super(message, options);
    this.name = "ClientError";
    this.code = code;
    this.canRetry = options.canRetry ?? false;
    this.retryAfterSeconds = options.retryAfterSeconds ?? null;
    this.status = options.status ?? null;
    this.url = typeof options.url === "string" ? withoutSecrets(options.url) : null;
    this.requestId = options.requestId ?? null;
  }

  toJSON(): ClientErrorJson {
    const { code, message, canRetry, retryAfterSeconds, status, url, requestId } = this;
    const { cause } = this as { readonly cause?: Error };
    const text = cause === undefined ? undefined : String(cause);
    return { code, message, canRetry, retryAfterSeconds, status, url, requestId, cause: text };
  }
}

/** Removes the credentials, the query, the fragment and the token of a share. */
export function withoutSecrets(url: string): string {
  return url
    .replace(/[?#].*$/s, "")
    .replace(/^([a-z]+:\/\/)[^/]*@/i, "$1")
    .replace(/\/shares\/[^/]+/, "/shares/…");
}

/** Reads the JSON of an error. It may come from another version of the page, so a field can be missing. */
export function errorFromJson(json: ClientErrorJson | Readonly<Record<string, unknown>>): ClientError {
  const { code, message, ...options } = json as Partial<ClientErrorJson>;
  return new ClientError(code ?? "SERVER_ERROR", message ?? "The message was rejected.", options);
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
