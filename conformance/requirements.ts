/**
 * `REQUIREMENTS` lists the numbered requirements of the source documents and the package whose tests prove each.
 * Tests cite the ids in their titles, and `coverage.ts` compares the two. The texts state what is required, not how it
 * is implemented.
 */

/** A package, or a part of one, whose tests prove a requirement. */
type Package = "protocol" | "server/gateway" | "server/runtime" | "server/payments" | "client" | "react";

interface Promised {
  readonly id: string;
  readonly text: string;
}

/** Proved by existing tests. `later` is the part that a future package will prove. */
interface ProvedRequirement extends Promised {
  readonly provedBy: Package;
  readonly later?: { readonly package: Package; readonly text: string };
}

/** Belongs to a future package. Tests can already cite it for the part that exists. */
export interface PendingRequirement extends Promised {
  readonly pending: Package;
  readonly why: string;
}

export type Requirement = ProvedRequirement | PendingRequirement;

export const REQUIREMENTS: readonly Requirement[] = [
  {
    id: "W01",
    text: "Each frame has its `type`, and each frame of a turn carries the `message_id` of that turn.",
    provedBy: "protocol",
  },
  {
    id: "W02",
    text: "A turn always sends frames in the same order, however it ends: `message_start`, blocks, `message_delta`, `message_stop`. If it is cut short, cancelled results come first, then `group_end`, then the terminal block.",
    provedBy: "protocol",
  },
  {
    id: "W03",
    text: "A block has a start, any number of deltas and a stop. One counter numbers blocks and group markers, starting at 0.",
    provedBy: "protocol",
  },
  {
    id: "W04",
    text: "Thinking streams as `thinking_delta` pieces, first in the answer, and only if the display mode is `agent`.",
    provedBy: "protocol",
  },
  {
    id: "W05",
    text: "Text streams as `text_delta` pieces. Its start marks whether it is a part, its stop whether it is the final answer.",
    provedBy: "protocol",
  },
  {
    id: "W06",
    text: "A tool call arrives complete in its start, with the same value in `id` and `tool_use_id`. It has a label for users that defaults to its name.",
    provedBy: "protocol",
  },
  {
    id: "W07",
    text: "A tool result arrives complete in its start: status, at most 500 characters, artifact or null, and the tool's name in both name fields. A result with empty content is valid.",
    provedBy: "protocol",
  },
  {
    id: "W08",
    text: "Each parallel call has its own index, and the results can arrive in any order.",
    provedBy: "protocol",
  },
  {
    id: "W09",
    text: "The blocks of a sub-agent name the sub-agent and its call. A sub-agent opens no groups and writes only parts.",
    provedBy: "protocol",
  },
  {
    id: "W10",
    text: "A stop by the user is a text block with the subtype `user_stopped`, after a cancelled result for every open call. After it, nothing is streaming.",
    provedBy: "protocol",
  },
  {
    id: "W11",
    text: "A failure is a text block with the subtype `error`. It has the error code, whether a retry can help, the type and the details.",
    provedBy: "protocol",
  },
  {
    id: "W12",
    text: "A turn for a message with files starts with a `file_processing` block at index 0. Its delta has status and message.",
    provedBy: "protocol",
  },
  {
    id: "W13",
    text: "An approval has its key, its actions, how they are reviewed, and its deadline. It is approved, edited, rejected or timed out, and `approval_result` reports the outcome.",
    provedBy: "server/runtime",
  },
  {
    id: "W14",
    text: "Markers surround the steps of a group, also a single thinking block. Everything that is not a step ends an open group.",
    provedBy: "protocol",
  },
  {
    id: "W15",
    text: "Calls and results can be hidden from the stream. A shared thought is a text between groups, and a question is a request between groups.",
    provedBy: "server/runtime",
  },
  {
    id: "W16",
    text: "On one socket a client sends messages, subscribes after a cursor, stops turns, and answers approvals and questions.",
    provedBy: "server/gateway",
  },

  {
    id: "H01",
    text: "History is a flat list of messages with one kind of content each, marked as content or as start, item and end of a group.",
    provedBy: "server/gateway",
  },
  {
    id: "H02",
    text: "History also contains whether the agent is running, the interactions that wait for the user, and the event to subscribe after.",
    provedBy: "server/gateway",
  },
  {
    id: "H03",
    text: "History and the stream after its cursor together equal the complete stream, at every moment and in every dialect.",
    provedBy: "server/gateway",
  },
  {
    id: "H04",
    text: "A reload during a turn finds open groups and pending approvals. A reload afterwards finds every group closed.",
    provedBy: "protocol",
  },
  {
    id: "H05",
    text: "A call without a result is pending while its turn is running, and stopped after the turn has ended.",
    provedBy: "protocol",
  },

  {
    id: "T01",
    text: "Events name their task, and fold to `{task_id, output}` with the visible reasoning, calls, results and messages.",
    provedBy: "server/gateway",
  },
  {
    id: "T02",
    text: "Output items are added and done at their `output_index`; `done` has the complete item. Inner events name their item and their piece.",
    provedBy: "protocol",
  },
  {
    id: "T03",
    text: "Reasoning streams as summary items: added, text deltas, done.",
    provedBy: "protocol",
  },
  {
    id: "T04",
    text: "The arguments of a call stream as text, and the end has them complete.",
    provedBy: "protocol",
  },
  {
    id: "T05",
    text: "The size of a block decides its frames: only done, added and done, or also deltas between them. Each delta of a picture is a complete picture. `image_url` blocks are accepted.",
    provedBy: "protocol",
  },
  {
    id: "T06",
    text: "Clients never receive the content for the model; they receive `block_list`.",
    provedBy: "protocol",
  },
  {
    id: "T07",
    text: "Citable results carry an integer id. A marker in the answer has an annotation over exactly its UTF-16 units.",
    provedBy: "protocol",
  },
  {
    id: "T08",
    text: "A sub-agent is a task named by its call, between the parent's result container and that container's bare `.done`.",
    provedBy: "protocol",
  },
  {
    id: "T09",
    text: "Users see everything that sub-agents do, at any depth. The model sees the references and the final message.",
    provedBy: "protocol",
  },

  {
    id: "S01",
    text: "A message is posted with `message`, `stream`, `agent_id` and `include_tool_tags`. Without streaming, the response is one object with the end state or with the pending interaction.",
    provedBy: "server/gateway",
  },
  {
    id: "S02",
    text: "Frames are SSE with `event:` and `data:`. Every data names its type, response and chat, and `[DONE]` ends every stream.",
    provedBy: "protocol",
  },
  {
    id: "S03",
    text: "`response.created` names the agent, the model and the conversation. A new title is sent when it exists.",
    provedBy: "protocol",
  },
  {
    id: "S04",
    text: "A tool call is a reasoning step. Its start has label, tool, arguments and ISO time; its end has the result and its tokens.",
    provedBy: "protocol",
  },
  {
    id: "S05",
    text: "Text streams as deltas. The completed event has the authoritative complete text and the usage of the turn.",
    provedBy: "protocol",
  },
  {
    id: "S06",
    text: "Tool tags are removed unless the client requests them, however the text is cut, and no delta is empty.",
    provedBy: "protocol",
  },
  {
    id: "S07",
    text: "Forms, payments, approvals and questions are interaction requests, distinguished by `interaction_type`. After a form or payment the stream ends.",
    provedBy: "server/runtime",
  },
  {
    id: "S08",
    text: "Payments only move forward through their states. The signed notification of the payment gateway and a periodic job move them, and history contains the record.",
    pending: "server/payments",
    why: "the states and the record in history are proved here; notification, expiry and the status query belong to the server",
  },
  {
    id: "S09",
    text: "An error has a message and a number from one table, which also contains its code.",
    provedBy: "protocol",
  },
  {
    id: "S10",
    text: "The stream of a running turn without an event for 180 seconds ends with an error and `[DONE]`.",
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
    text: "An item is pending, done, failed or stopped, each with its own color.",
    provedBy: "react",
  },
  {
    id: "U03",
    text: "A tool item expands to its request and its response. It is open while the tool runs, and closed in history.",
    provedBy: "react",
  },
  {
    id: "U04",
    text: "A running group is open under its newest label with the newest three items. An ended group collapses under its summary.",
    provedBy: "react",
  },
  {
    id: "U05",
    text: "An approval card is in its group, with arguments, choices and remaining time. A question card is outside of groups.",
    provedBy: "react",
  },
  {
    id: "U06",
    text: "Only the first message of a turn shows the agent's brand.",
    provedBy: "react",
  },
  {
    id: "U07",
    text: "Forms, payments, files, artifacts, citations, sub-agents, stop and retry have components.",
    provedBy: "react",
  },
  {
    id: "U08",
    text: "Updates are batched per frame, connections are closed when the user leaves, and timeouts are not shorter than the server's.",
    provedBy: "client",
  },
  {
    id: "U09",
    // Our tests run no Dart. A Flutter client is written from PROTOCOL.md and the vectors. The reader in Python, which
    // shares no code with ours, shows that this is enough. The README of the vectors has notes for Dart.
    text: "React, Flutter, browser JavaScript and Python clients can use it.",
    provedBy: "client",
  },
];

export function isPending(requirement: Requirement): requirement is PendingRequirement {
  return "pending" in requirement;
}
