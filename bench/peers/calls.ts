/**
 * `Calls` looks up a call by its block. Our events name only the block, the other formats need id and name of the call.
 * For benches only.
 */
import type { EventOf } from "@turnstream/protocol";

interface Call {
  readonly id: string;
  readonly name: string;
  args: string;
}

export class Calls {
  private readonly byBlock = new Map<string, Call>();

  start(event: EventOf<"tool_call.start"> | EventOf<"tool_result.start">): Call {
    const call = { id: event.call, name: event.name, args: "" };
    this.byBlock.set(event.block, call);
    return call;
  }

  of(event: { readonly block: string }): Call {
    const call = this.byBlock.get(event.block);
    if (call === undefined) throw new Error(`block ${event.block} has no started call`);
    return call;
  }
}
