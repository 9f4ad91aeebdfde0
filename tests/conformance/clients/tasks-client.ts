/**
 * `TasksClient` is a plain client of the `tasks` dialect that follows only its source document. It has one output list
 * per `task_id`. It places items by `output_index`, fills them with deltas and replaces them with the item of `.done`.
 */

type Data = Record<string, unknown>;

export class TasksClient {
  readonly outputs = new Map<string, Data[]>();
  cursor: string | null = null;
  readonly problems: string[] = [];

  handle(frame: Data): void {
    const task = frame["task_id"];
    if (typeof task !== "string") this.problems.push(`${String(frame["type"])} without task_id`);
    else this.handleInTask(task, frame);
    if (typeof frame["event_id"] === "string") this.cursor = frame["event_id"];
  }

  private handleInTask(task: string, frame: Data): void {
    const type = frame["type"] as string;
    if (type === "task.created" || type === "task.done") return;
    const output = this.outputs.get(task) ?? [];
    this.outputs.set(task, output);
    const index = frame["output_index"] as number;
    if (type === "task.output_item.added") {
      output[index] = structuredClone(frame["item"]) as Data;
      return;
    }
    const item = output[index];
    if (item === undefined) {
      this.problems.push(`${type} for the unknown item ${index} of ${task}`);
      return;
    }
    if (frame["item_id"] !== undefined && frame["item_id"] !== item["id"])
      this.problems.push(`${type} for another item`);
    applyTo(item, type, frame);
    if (type === "task.output_item.done") {
      const whole = frame["item"] as Data;
      // The `.done` of a result that a sub-agent filled carries only the status.
      const retained =
        whole["block_list"] === undefined && item["block_list"] !== undefined
          ? { block_list: item["block_list"] }
          : {};
      output[index] = { ...structuredClone(whole), ...retained };
    }
  }

  /** `{task_id, output}` of every task. */
  display(): Record<string, unknown> {
    return Object.fromEntries([...this.outputs].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }
}

function applyTo(item: Data, type: string, frame: Data): void {
  const summary = item["summary"] as Data[];
  const blocks = item["block_list"] as Data[];
  const at = (frame["summary_index"] ?? frame["block_index"]) as number;
  switch (type) {
    case "task.reasoning_summary_item.added":
    case "task.reasoning_summary_item.done":
      summary[at] = { ...(frame["item"] as Data) };
      return;
    case "task.reasoning_summary_text.delta":
      summary[at] = { type: "text", text: `${summary[at]?.["text"] as string}${frame["delta"] as string}` };
      return;
    case "task.tool_call_arguments.delta":
      item["arguments"] = `${item["arguments"] as string}${frame["delta"] as string}`;
      return;
    case "task.tool_call_arguments.done":
      item["arguments"] = frame["arguments"];
      return;
    case "task.text.delta":
      blocks[at] = { ...blocks[at], text: `${blocks[at]?.["text"] as string}${frame["delta"] as string}` };
      return;
    case "task.text.added":
    case "task.text.done":
    case "task.image.added":
    case "task.image.delta":
    case "task.image.done":
      blocks[at] = { ...(frame["item"] as Data) };
  }
}
