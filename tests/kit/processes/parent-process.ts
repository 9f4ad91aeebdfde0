/**
 * `connectParent` is the child's end of a `ChildProgram`: it sends messages to the parent process and receives messages
 * from it.
 *
 * Invariant: the child exits when its parent does.
 */
import { flushCompileCache } from "node:module";

export interface ParentProcess<Incoming, Outgoing> {
  /** Does nothing after the parent has exited. */
  send(message: Outgoing): void;
  onMessage(listener: (message: Incoming) => void): void;
}

/** Reads the settings that `ChildProgram` passes. The program exports their type. */
export function readSettings(): unknown {
  return JSON.parse(process.argv[2] ?? "{}");
}

export function connectParent<Incoming extends object, Outgoing extends object>(): ParentProcess<
  Incoming,
  Outgoing
> {
  process.on("disconnect", () => process.exit());
  // Node writes its compile cache when a process exits, but most of these processes are killed.
  flushCompileCache();
  return {
    send: (message) => {
      if (process.connected) process.send?.(message);
    },
    onMessage: (listener) => void process.on("message", listener),
  };
}
