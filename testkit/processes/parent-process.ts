/**
 * `connectParent` is the child's end of a `ChildProgram`: it sends messages to the parent process and receives messages from
 * it. The child exits when the parent does.
 */
import { flushCompileCache } from "node:module";

export interface ParentProcess<Incoming, Outgoing> {
  /** Does nothing once the parent has exited. */
  send(message: Outgoing): void;
  onMessage(listener: (message: Incoming) => void): void;
}

/** The settings that `ChildProgram` passes: of the type that the program exports for them. */
export function readSettings(): unknown {
  return JSON.parse(process.argv[2] ?? "{}");
}

export function connectParent<Incoming extends object, Outgoing extends object>(): ParentProcess<
  Incoming,
  Outgoing
> {
  process.on("disconnect", () => process.exit());
  // Node writes what it compiled when a process exits, and most of these are killed.
  flushCompileCache();
  return {
    send: (message) => {
      if (process.connected) process.send?.(message);
    },
    onMessage: (listener) => void process.on("message", listener),
  };
}
