/**
 * `connectParent` is the child's end of a `ChildProgram`: it sends messages to the parent process and receives messages from
 * it. The child exits when the parent does.
 */

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
  return {
    send: (message) => {
      if (process.connected) process.send?.(message);
    },
    onMessage: (listener) => void process.on("message", listener),
  };
}
