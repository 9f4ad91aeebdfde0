/**
 * `eraseForBlocks`, `eraseForTasks` and `eraseForResponses` remove from a state exactly what each dialect can't carry,
 * as DIALECTS.md documents it. Two states with equal results are equal for every client of the dialect.
 */
import {
  type Block,
  listBlocks,
  isBlock,
  type Run,
  type SessionState,
  type Turn,
} from "@turnstream/protocol";
import type { Item } from "../../../packages/protocol/src/state.ts";
import { outputText } from "@turnstream/protocol/responses";
import { taskState } from "../../../packages/protocol/src/dialects/tasks/items.ts";

type Fields = Record<string, unknown>;

function order(a: unknown, b: unknown): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
}

function without(from: object, ...fields: string[]): Fields {
  const retained = Object.entries(from).filter(([field]) => !fields.includes(field));
  return Object.fromEntries(retained.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function mainOf(turn: Turn): string | undefined {
  return turn.runs.find((run) => run.parent === null)?.id;
}

/** The agent that wrote a block, and its call. The decoder chooses its own run id. */
function author(turn: Turn, item: Item): Fields {
  const run = turn.runs.find((r) => r.id === item.run);
  return { by_agent: run?.parent === null ? null : run?.agent, under_call: run?.call ?? null };
}

function isShown(turn: Turn, block: Block): boolean {
  return !("hidden" in block && block.hidden) && (block.kind !== "thinking" || turn.mode === "agent");
}

const OWN = [
  "id",
  "index",
  "shown",
  "run",
  "start",
  "end",
  "started_at",
  "ended_at",
  "output",
  "decided_at",
  "by",
  "changed",
];

export function eraseForBlocks(state: SessionState): unknown {
  return { title: state.title, turns: state.turns.toArray().map(blocksTurn) };
}

function blocksTurn(turn: Turn): Fields {
  const shown = turn.items.toArray().flatMap((item) => {
    if (item === null || item.kind === "superseded") return [];
    if (!isBlock(item)) return [{ at: item.start, item: without(item, ...OWN) }];
    const isHalf = item.end === null && item.kind !== "tool_call" && item.kind !== "tool_result";
    if (!isShown(turn, item) || (item.end === null && !isHalf)) return [];
    // The first delta distinguishes a text from a notice, so a text without one is not visible yet.
    if (item.kind === "text" && item.end === null && item.text === "") return [];
    return [
      {
        at: item.end ?? Infinity,
        item: { ...blocksBlock(item), ...author(turn, item), open: item.end === null },
      },
    ];
  });
  // Open blocks have no order among each other: a client can receive them in any order.
  const inOrder = shown.toSorted((a, b) => (a.at === b.at ? order(a.item, b.item) : a.at < b.at ? -1 : 1));
  const { id, mode, from_share, started_at, status, duration_ms } = turn;
  return { id, mode, from_share, started_at, status, duration_ms, items: inOrder.map(({ item }) => item) };
}

function blocksBlock(block: Block): Fields {
  switch (block.kind) {
    case "tool_call":
      return {
        ...without(block, ...OWN, "args", "parsed", "given", "aborted", "whole"),
        label: labelOf(block),
      };
    case "tool_result":
      return {
        ...without(block, ...OWN, "parts", "usage", "structured"),
        preview: cut(block.preview),
        label: labelOf(block),
      };
    case "text":
    case "form":
    case "payment":
      return without(block, ...OWN, "call");
    case "approval":
      return without(block, ...OWN);
    case "question":
      return without(block, ...OWN, "message");
    case "files":
      return { ...without(block, ...OWN), files: block.files.map((file) => without(file, "status")) };
    case "notice":
      return {
        ...without(block, ...OWN, "template"),
        error: block.error === null ? null : { details: null, ...block.error },
      };
    default:
      return without(block, ...OWN);
  }
}

/** A missing label is sent as a readable form of the tool's name. */
function labelOf(block: { name: string; label: string }): string {
  const label = block.name.replaceAll("_", " ");
  return block.label || label.charAt(0).toUpperCase() + label.slice(1);
}

function cut(text: string): string {
  const short = text.slice(0, 500);
  return text.length > 500 && /[\ud800-\udbff]$/.test(short) ? short.slice(0, -1) : short;
}

export function eraseForTasks(state: SessionState): unknown {
  return state.turns.toArray().flatMap((turn) => {
    const { id, mode, agent, started_at, status, duration_ms, usage } = turn;
    const runs = turn.runs.filter((run) => run.status !== "superseded");
    if (runs.length === 0) return [];
    return [
      {
        id,
        mode,
        agent,
        started_at,
        status,
        duration_ms,
        usage,
        tasks: runs.map((run) => tasksRun(turn, run)).toSorted(byTask),
      },
    ];
  });
}

function byTask(a: Fields, b: Fields): number {
  return String(a["task_id"]) < String(b["task_id"]) ? -1 : 1;
}

function tasksRun(turn: Turn, run: Run): Fields {
  const { task_id, output } = taskState({ ...turn }, run);
  const isMain = run.id === mainOf(turn);
  const own = listBlocks(turn).filter((b) => b.run === run.id && "output" in b && isShown(turn, b));
  const items = output.flatMap((item) => {
    const block = own.find((b) => b.id === item.id);
    if (block === undefined) return [];
    // An open result shows its parts so far. Whether a run fills it is not known yet.
    const open = block.end === null;
    const parts =
      block.kind === "tool_result"
        ? {
            block_list: open
              ? block.parts.map(({ media, data, reference }) => ({
                  media,
                  data,
                  reference: open ? null : reference,
                }))
              : (item as Fields)["block_list"],
          }
        : {};
    const streamed = open && block.kind === "tool_call" ? { arguments: block.args } : {};
    return [
      {
        ...without(item, "id", ...(open ? ["status", "is_final"] : [])),
        ...parts,
        ...streamed,
        open,
      },
    ];
  });
  return {
    task_id,
    agent: run.agent,
    status: isMain ? null : run.status,
    usage: isMain ? null : run.usage,
    parent: turn.runs.find((r) => r.id === run.parent)?.call ?? null,
    items,
  };
}

/**
 * @param taken turns in which a takeover superseded something; for these only the text is corrected
 * @param textOf returns the text of a turn: a decoder's blocks already contain the separators between blocks
 */
export function eraseForResponses(
  state: SessionState,
  taken: ReadonlySet<string>,
  textOf = sentText,
): unknown {
  const turns = state.turns.toArray().map((turn) => {
    const { id, agent, status } = turn;
    const model = turn.model ?? "";
    const isWhole = status === "end_turn" || status === "user_stopped";
    const text = isWhole ? textOf(turn) : null;
    return { id, agent, model, text, ...(taken.has(id) ? {} : { status, ...responsesBlocks(turn) }) };
  });
  return turns.length === 0 ? {} : { session: state.session, number: state.number, turns };
}

function sentText(turn: Turn): string {
  return outputText(turn, false);
}

export function joinedText(turn: Turn): string {
  return listBlocks(turn)
    .map((block) => (block.kind === "text" ? block.text : ""))
    .join("");
}

function responsesBlocks(turn: Turn): Fields {
  const blocks = listBlocks(turn).filter((block) => isShown(turn, block));
  const steps: unknown[] = [];
  const results: unknown[] = [];
  const interactions: unknown[] = [];
  const errors: unknown[] = [];
  for (const b of blocks) {
    if (b.kind === "tool_call" && b.end !== null) steps.push([b.call, b.name, labelOf(b), b.input]);
    if (b.kind === "tool_result" && b.end !== null) results.push([b.call, b.status, b.preview]);
    if ("version" in b) interactions.push(without(b, ...OWN, "call", "aborted", "message"));
    if (b.kind === "notice" && b.error !== null) errors.push([b.text, b.error.code, b.error.can_retry]);
  }
  return { steps: steps.toSorted(order), results: results.toSorted(order), interactions, errors };
}

/** The turns in which a takeover superseded something. */
export function takenTurns(state: SessionState): Set<string> {
  const taken = state.turns
    .toArray()
    .filter((turn) => turn.items.toArray().some((item) => item?.kind === "superseded"));
  return new Set(taken.map((turn) => turn.id));
}
