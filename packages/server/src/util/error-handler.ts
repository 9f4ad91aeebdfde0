/** How the gateway, the worker and the engine report errors that they survive. Types only. */

export interface ErrorContext {
  /** What the process was doing, such as `job s1/acme/t1`. Ids and names only, no secrets. */
  readonly during: string;
}

export type ErrorHandler = (error: unknown, context: ErrorContext) => void;
