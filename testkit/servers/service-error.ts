/** What can go wrong with a server of ours, as one error with a code. Never used for what a server answers. */

/**
 * `binary_missing`: install something. `start_failed`: read the end of the server's log, which is in the message.
 * `not_running`: restart it first, or look why it has ended. `timed_out`: no answer in time.
 */
export type ServiceErrorCode = "binary_missing" | "start_failed" | "not_running" | "timed_out";

export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ServiceErrorCode;

  constructor(code: ServiceErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
