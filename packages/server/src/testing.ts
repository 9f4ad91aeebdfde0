/**
 * `@turnstream/server/testing` exports models that play a script, and the log and the signals in memory.
 * `@turnstream/testing` exports them again, with a store in memory. Invariant: every name here is public. The in-memory
 * implementations follow the same rules as the real ones, but nothing survives the process.
 */
// oxlint-disable-next-line import/no-unassigned-import -- it must run before all other imports
import "./util/require-node.ts";
export { createMemoryLog } from "./log/memory.ts";
export {
  type CallOptions,
  type Failure,
  type Repeat,
  script,
  type ScriptedReply,
  type ScriptFinishOptions,
  type ScriptPart,
  type StreamPace,
} from "./models/script-parts.ts";
export {
  type Script,
  type ScriptCall,
  scriptedModel,
  type ScriptedOptions,
} from "./models/scripted-model.ts";
export { createMemorySignals } from "./signals/memory.ts";
