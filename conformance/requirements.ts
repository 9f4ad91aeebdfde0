/**
 * The numbered promises as data: what the source documents ask for, in our words, and where each is proved.
 * Tests cite the ids in their titles; `coverage.ts` compares the two. Never says how a promise is kept.
 */

/** A package, or a part of one, whose tests prove a promise. */
type Package = "protocol" | "server/gateway" | "server/runtime" | "server/payments" | "client" | "react";

interface Promised {
  readonly id: string;
  readonly text: string;
}

/** Proved by tests that are there. `later` is the share of it that a package still to come will prove. */
interface ProvedRequirement extends Promised {
  readonly provedBy: Package;
  readonly later?: { readonly package: Package; readonly text: string };
}

/** Belongs to a package still to come. Tests may cite it already, for the share that is there. */
export interface PendingRequirement extends Promised {
  readonly pending: Package;
  readonly why: string;
}

export type Requirement = ProvedRequirement | PendingRequirement;

export const REQUIREMENTS: readonly Requirement[] = [
  {
    id: "W01",
    text: "Each frame says its `type`, and each frame of a turn carries that turn's one `message_id`.",
    provedBy: "protocol",
  },
  {
    id: "W02",
    text: "A turn is told in one order, however it ends: `message_start`, blocks, `message_delta`, `message_stop`. Cut short, cancelled results come first, then `group_end`, then the terminal block.",
    provedBy: "protocol",
  },
  {
    id: "W03",
    text: "A block has a start, any number of deltas and a stop. One counter numbers blocks and group markers from 0 upwards.",
    provedBy: "protocol",
  },
  {
    id: "W04",
    text: "Thinking streams as `thinking_delta` pieces, first in the answer, and only where the display mode is `agent`.",
    provedBy: "protocol",
  },
  {
    id: "W05",
    text: "Text streams as `text_delta` pieces; its start says whether it is a part, its stop whether it is the final answer.",
    provedBy: "protocol",
  },
  {
    id: "W06",
    text: "A tool call arrives whole in its start, under `id` and `tool_use_id` alike, with a label for people that falls back to its name.",
    provedBy: "protocol",
  },
  {
    id: "W07",
    text: "A tool result arrives whole in its start: status, at most 500 characters, artifact or null, and the tool's name under both names. Empty content is a result too.",
    provedBy: "protocol",
  },
  {
    id: "W08",
    text: "Parallel calls have an index each, and their results may come in any order.",
    provedBy: "protocol",
  },
  {
    id: "W09",
    text: "A sub-agent's blocks name it and the call that it works for; it opens no groups and writes only parts.",
    provedBy: "protocol",
  },
  {
    id: "W10",
    text: "A person's stop is a text block with the subtype `user_stopped`, after a cancelled result for every open call; from then on nothing counts as streaming.",
    provedBy: "protocol",
  },
  {
    id: "W11",
    text: "A failure is a text block with the subtype `error`, the error's word, whether to retry, its type and details.",
    provedBy: "protocol",
  },
  {
    id: "W12",
    text: "A message with files begins its turn with a `file_processing` block at index 0, whose delta gives status and message.",
    provedBy: "protocol",
  },
  {
    id: "W13",
    text: "An approval shows its key, what will be done, how it is reviewed and until when; it is approved, edited, rejected or timed out, and `approval_result` says which.",
    provedBy: "server/runtime",
  },
  {
    id: "W14",
    text: "Markers surround the steps of a group, a lone thinking block too; whatever is not a step ends a group that is open.",
    provedBy: "protocol",
  },
  {
    id: "W15",
    text: "Calls and results may be kept off the stream; a shared thought is a text between groups, and a question is a request between groups.",
    provedBy: "server/runtime",
  },
  {
    id: "W16",
    text: "On the same socket a client sends messages, subscribes after a cursor, stops, and answers approvals and questions.",
    provedBy: "server/gateway",
  },

  {
    id: "H01",
    text: "History is a flat list of messages with one kind of content each, marked as content or as start, item and end of a group.",
    provedBy: "server/gateway",
  },
  {
    id: "H02",
    text: "History also says whether the agent runs, what waits for a person, and after which event to subscribe.",
    provedBy: "server/gateway",
  },
  {
    id: "H03",
    text: "History and the stream after its cursor amount to the whole stream, at every moment and in every dialect.",
    provedBy: "server/gateway",
  },
  {
    id: "H04",
    text: "A reload in mid-turn finds groups open and approvals answerable; a reload afterwards finds every group closed.",
    provedBy: "protocol",
  },
  {
    id: "H05",
    text: "A call without a result is pending while its turn runs and stopped once the turn is over.",
    provedBy: "protocol",
  },

  {
    id: "T01",
    text: "Events name their task, and fold to `{task_id, output}` with what people see of reasoning, calls, results and messages.",
    provedBy: "server/gateway",
  },
  {
    id: "T02",
    text: "Output items are added and done at their `output_index`, done with the whole item; inner events say which item and which piece.",
    provedBy: "protocol",
  },
  {
    id: "T03",
    text: "Reasoning streams as summary items: added, text deltas, done.",
    provedBy: "protocol",
  },
  {
    id: "T04",
    text: "The arguments of a call stream as text and are given whole at the end.",
    provedBy: "protocol",
  },
  {
    id: "T05",
    text: "Blocks travel by size: done alone, added and done, or with deltas between; a picture's deltas are whole pictures. `image_url` blocks are accepted.",
    provedBy: "protocol",
  },
  {
    id: "T06",
    text: "What the model reads never reaches a client; people get `block_list`.",
    provedBy: "protocol",
  },
  {
    id: "T07",
    text: "Citable results carry an integer id, and a marker in the answer an annotation over exactly its UTF-16 units.",
    provedBy: "protocol",
  },
  {
    id: "T08",
    text: "A sub-agent is a task named by its call, between the parent's result container and that container's bare `.done`.",
    provedBy: "protocol",
  },
  {
    id: "T09",
    text: "People see all that sub-agents do, however deep; the model sees the references and the final message.",
    provedBy: "protocol",
  },

  {
    id: "S01",
    text: "A message is posted with `message`, `stream`, `agent_id` and `include_tool_tags`; unstreamed, one object answers with the end state or asks for a person.",
    provedBy: "server/gateway",
  },
  {
    id: "S02",
    text: "Frames are SSE with `event:` and `data:`, every data names its type, response and chat, and `[DONE]` ends every stream.",
    provedBy: "protocol",
  },
  {
    id: "S03",
    text: "`response.created` says which agent, model and conversation; a new title is told when there is one.",
    provedBy: "protocol",
  },
  {
    id: "S04",
    text: "A tool call is a reasoning step: its start has label, tool, arguments and ISO time, its end the result and its tokens.",
    provedBy: "protocol",
  },
  {
    id: "S05",
    text: "Text streams as deltas, and the completed event has the authoritative whole and the turn's usage.",
    provedBy: "protocol",
  },
  {
    id: "S06",
    text: "Tool tags are taken out unless asked for, however the text is cut, and no delta is empty.",
    provedBy: "protocol",
  },
  {
    id: "S07",
    text: "Forms, payments, approvals and questions are interaction requests told apart by `interaction_type`; after a form or payment the stream ends.",
    provedBy: "server/runtime",
  },
  {
    id: "S08",
    text: "Payments only move forward through their states; the gateway's signed notify and a periodic job move them, and history keeps the record.",
    pending: "server/payments",
    why: "the states and the record in history are proved here; notify, expiry and the status query are the server's",
  },
  {
    id: "S09",
    text: "An error has a message and a number out of one table, which also has its word.",
    provedBy: "protocol",
  },
  {
    id: "S10",
    text: "A running turn without an event for 180 seconds ends its stream with an error and `[DONE]`.",
    provedBy: "server/gateway",
  },
  {
    id: "S11",
    text: "The tools that 002 names are built in.",
    provedBy: "server/runtime",
  },

  {
    id: "U01",
    text: "A call and its result are one item, and the result is not shown a second time.",
    provedBy: "protocol",
  },
  {
    id: "U02",
    text: "An item is pending, done, failed or stopped, each with a colour of its own.",
    provedBy: "react",
  },
  {
    id: "U03",
    text: "A tool item opens to its request and its response; open while it runs, closed in history.",
    provedBy: "react",
  },
  {
    id: "U04",
    text: "A running group is open under its newest label with the newest three items; an ended one folds up under its summary.",
    provedBy: "react",
  },
  {
    id: "U05",
    text: "An approval card stands in its group with arguments, choices and time left; a question card stands outside.",
    provedBy: "react",
  },
  {
    id: "U06",
    text: "Only the first message of a turn shows the agent's brand.",
    provedBy: "react",
  },
  {
    id: "U07",
    text: "Forms, payments, files, artifacts, citations, sub-agents, stop and retry have their components.",
    provedBy: "react",
  },
  {
    id: "U08",
    text: "Updates are batched per frame, connections are closed on leaving, time-outs are no shorter than the server's.",
    provedBy: "client",
  },
  {
    id: "U09",
    // No Dart runs here. A Flutter client is written by PROTOCOL.md and the vectors, as the reader in Python was, which
    // shares no code with ours; what is special to Dart is in the vectors' README.
    text: "React, Flutter, browser JavaScript and Python clients can use it.",
    provedBy: "client",
  },
];

export function isPending(requirement: Requirement): requirement is PendingRequirement {
  return "pending" in requirement;
}
