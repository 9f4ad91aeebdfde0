/**
 * `REQUIREMENTS` lists the numbered requirements of the source documents, with the levels at which tests prove each.
 * Tests cite the ids in their titles. The folder of a test decides its level (`levels.ts`), and `coverage.ts` compares
 * the two. The texts state what is required, not how it is implemented.
 * Invariant: a requirement is proved when every level has a test. To prove a pending one, delete its `pending`.
 */
import type { Level } from "./levels.ts";

export interface Requirement {
  readonly id: string;
  readonly text: string;
  readonly levels: readonly Level[];
  /** Why it is not proved yet. Tests can already cite it for the part that exists. */
  readonly pending?: string;
}

const encoder = "encoder";
const runtime = "runtime";
const gateway = "gateway";
const screen = "screen";

export const REQUIREMENTS: readonly Requirement[] = [
  {
    id: "W01",
    text: "Each frame has its `type`, and each frame of a turn carries the `message_id` of that turn.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "W02",
    text: "A turn always sends frames in the same order, however it ends: `message_start`, blocks, `message_delta`, `message_stop`. If it is cut short, cancelled results come first, then `group_end`, then the terminal block.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "W03",
    text: "A block has a start, any number of deltas and a stop. One counter numbers blocks and group markers, starting at 0.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "W04",
    text: "Thinking streams as `thinking_delta` pieces, first in the answer.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "W05",
    text: "Text streams as `text_delta` pieces. Its start marks whether it is a part, its stop whether it is the final answer.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "W06",
    text: "A tool call arrives complete in its start, with the same value in `id` and `tool_use_id`. It has a label for users that defaults to its name.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "W07",
    text: "A tool result arrives complete in its start: status, at most 500 characters, artifact or null, and the tool's name in both name fields. A result with empty content is valid.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "W08",
    text: "Each parallel call has its own index, and the results can arrive in any order.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "W09",
    text: "The blocks of a sub-agent name the sub-agent and its call. A sub-agent opens no groups and writes only parts.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "W10",
    text: "A stop by the user is a text block with the subtype `user_stopped`, after a cancelled result for every open call. After it, nothing is streaming.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "W11",
    text: "A failure is a text block with the subtype `error`. It has the error code, whether a retry can help, the type and the details.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "W12",
    text: "A turn for a message with files starts with a `file_processing` block at index 0. Its delta has status and message.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "W13",
    text: "An approval has its key, its actions, how they are reviewed, and its deadline. It is approved, edited, rejected or timed out, and `approval_result` reports the outcome.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "W14",
    text: "Markers surround the steps of a group, also a single thinking block. Everything that is not a step ends an open group.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "W15",
    text: "Calls and results can be hidden from the stream. A question is a request between groups.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "W16",
    text: "On one socket a client sends messages, subscribes after a cursor, stops turns, and answers approvals and questions.",
    levels: [encoder, gateway],
  },
  {
    id: "W17",
    text: "In the first turn of a session that was forked from a share, `is_new_session_from_share` is true. In all other turns it is false.",
    levels: [encoder, gateway],
  },
  {
    id: "W18",
    text: "Hidden content is absent for every client without the scope `debug`: hidden calls and results, thinking in the display mode `chat`, and text for the model.",
    levels: [gateway],
  },
  {
    id: "W19",
    text: "A shared thought stands outside groups, also beside tool calls: before the calls if the model sent it first, otherwise after their results.",
    levels: [encoder, runtime, screen],
  },
  {
    id: "W20",
    text: "A rejected or timed-out approval closes its group.",
    levels: [runtime, screen],
  },
  {
    id: "W21",
    text: "An agent can compute the summary of a group. By default it is the label of the last call.",
    levels: [runtime],
  },
  {
    id: "W22",
    text: "From the loss of a worker until another one continues, the client shows that the turn is being resumed.",
    levels: [screen],
  },
  {
    id: "W23",
    text: "The display mode can be chosen per message and per agent. In `chat`, no dialect sends thinking.",
    levels: [encoder, runtime, gateway, screen],
  },

  {
    id: "H01",
    text: "History is a flat list of messages with one kind of content each, marked as content or as start, item and end of a group.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "H02",
    text: "History also contains whether a turn runs or waits, the interactions that wait for the user, and the event to subscribe after.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "H03",
    text: "History and the stream after its cursor together equal the complete stream, at every moment and in every dialect.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "H04",
    text: "A reload during a turn finds open groups and pending approvals. A reload afterwards finds every group closed.",
    levels: [encoder, runtime, gateway, screen],
  },
  {
    id: "H05",
    text: "A call without a result is pending while its turn is running, and stopped after the turn has ended.",
    levels: [encoder, runtime],
  },
  {
    id: "H06",
    text: "Our client shows every history that 004 prints as the document describes it.",
    levels: [encoder, screen],
  },
  {
    id: "H07",
    text: "A fork knows its origin, and a shared session has a history in every dialect that has one.",
    levels: [gateway],
  },

  {
    id: "T01",
    text: "Events name their task, and fold to `{task_id, output}` with the visible reasoning, calls, results and messages.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "T02",
    text: "Output items are added and done at their `output_index`; `done` has the complete item. Inner events name their item and their piece.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "T03",
    text: "Reasoning streams as summary items: added, text deltas, done.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "T04",
    text: "The arguments of a call stream as text, and the end has them complete.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "T05",
    text: "The size of a block decides its frames: only done, added and done, or also deltas between them. Each delta of a picture is a complete picture. `image_url` blocks are accepted.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "T06",
    text: "Clients never receive the content for the model; they receive `block_list`.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "T07",
    text: "Citable results carry an integer id. A marker in the answer has an annotation over exactly its UTF-16 units.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "T08",
    text: "A sub-agent is a task named by its call, between the parent's result container and that container's bare `.done`.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "T09",
    text: "Users see everything that sub-agents do, at any depth. The model sees the references and the final message.",
    levels: [encoder, runtime],
  },
  {
    id: "T10",
    text: "Pictures of messages and of tool results reach models that accept pictures.",
    levels: [runtime],
  },

  {
    id: "S01",
    text: "A message is posted with `message`, `stream`, `agent_id` and `include_tool_tags`. Without streaming, the response is one object with the end state or with the pending interaction.",
    levels: [encoder, gateway],
  },
  {
    id: "S02",
    text: "Frames are SSE with `event:` and `data:`. Every data names its type, response and chat, and `[DONE]` ends every stream.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "S03",
    text: "`response.created` names the agent, the model and the conversation. A new title is sent when it exists.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "S04",
    text: "A tool call is a reasoning step. Its start has label, tool, arguments and ISO time; its end has the result and its tokens.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "S05",
    text: "Text streams as deltas. The completed event has the authoritative complete text and the usage of the turn.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "S06",
    text: "Tool tags are removed unless the client requests them, however the text is cut, and no delta is empty.",
    levels: [encoder, gateway],
  },
  {
    id: "S07",
    text: "Forms, approvals and questions are interaction requests, distinguished by `interaction_type`. After a form the stream ends.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "S08",
    text: "A payment is an interaction request that ends the stream. It only moves forward through its states, by the signed notification of the payment provider or by a periodic job, and history contains its record.",
    levels: [encoder, runtime, gateway, screen],
  },
  {
    id: "S09",
    text: "An error has a message and a number from one table, which also contains its code.",
    levels: [encoder, runtime, gateway],
  },
  {
    id: "S10",
    text: "The stream of a running turn without an event for 180 seconds ends with an error and `[DONE]`.",
    levels: [encoder, gateway],
  },
  {
    id: "S11",
    text: "The tools that 002 names are built in.",
    levels: [runtime],
  },
  {
    id: "S12",
    text: "Agents are listed, and a message for an unknown agent is refused with 10006 and the names of the known ones.",
    levels: [gateway],
  },
  {
    id: "S13",
    text: "The owner can cancel a payment while it is pending.",
    levels: [gateway, screen],
  },

  {
    id: "U01",
    text: "A call and its result are one item, and the result is not shown a second time.",
    levels: [encoder, runtime, screen],
  },
  {
    id: "U02",
    text: "An item is pending, done, failed or stopped, each with its own color.",
    levels: [encoder, screen],
  },
  {
    id: "U03",
    text: "A tool item expands to its request and its response. Outside of groups it is open while the tool runs, and closes when it ends. In a group it is one line with a count or a preview of its result.",
    levels: [screen],
  },
  {
    id: "U04",
    text: "A running group is open under its newest label with the newest three items. An ended group collapses under its summary.",
    levels: [encoder, screen],
  },
  {
    id: "U05",
    text: "An approval card is in its group, with arguments, choices and remaining time. A question card is outside of groups.",
    levels: [screen],
  },
  {
    id: "U06",
    text: "Only the first message of a turn shows the agent's brand.",
    levels: [encoder, screen],
  },
  {
    id: "U07",
    text: "Forms, payments, files, artifacts, citations, sub-agents, stop and retry have components.",
    levels: [screen],
  },
  {
    id: "U08",
    text: "Updates are batched per frame, connections are closed when the user leaves, and timeouts are not shorter than the server's.",
    levels: [gateway, screen],
  },
  {
    id: "U09",
    text: "React, browser JavaScript and Python clients can use it. No Dart client is run: a port, such as Flutter, follows the vectors, and the fold in Python is the reference for it.",
    levels: [encoder, gateway, screen],
  },
  {
    id: "U10",
    text: "The name of a running tool shimmers.",
    levels: [screen],
  },
  {
    id: "U11",
    text: "Notices, summaries, errors and stops are in the user's language.",
    levels: [runtime, screen],
  },
  {
    id: "U12",
    text: "A session can be shared in a dialog, opened as a read-only page and continued in the user's own session.",
    levels: [screen],
  },
  {
    id: "U13",
    text: "Pending interactions and ended turns are delivered as signed webhooks with retries, also while no client is connected.",
    levels: [runtime, gateway],
  },
];
