/**
 * `ServiceError` is the error of every failure to start or reach a server, with a code. Does not represent error
 * replies of a server.
 */

/**
 * `binary_missing`: a program must be installed. `start_failed`: the message contains the end of the server's log.
 * `not_running`: restart the server, or find out why it has exited. `timed_out`: no answer in time.
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
