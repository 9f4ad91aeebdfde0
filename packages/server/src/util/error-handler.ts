/**
 * `ErrorHandler` is the callback that receives errors which the gateway, the worker and the engine survive. Types
 * only.
 * Invariant: `during` contains ids and names only, never content or secrets. The text of the error is for operators and
 * is never sent to clients, except the `userMessage` of a `ToolError`.
 */

export interface ErrorContext {
  /** The operation that failed, such as `job s1/acme/t1`. Contains ids and names only, no secrets. */
  readonly during: string;
}

export type ErrorHandler = (error: unknown, context: ErrorContext) => void;
