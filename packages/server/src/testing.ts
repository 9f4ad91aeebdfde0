/**
 * `@turnstream/server/testing` exports models that play a script, and in-memory implementations of store, log, engine
 * and signals.
 */
export {
  createMemoryEngine,
  createMemoryEngineHub,
  type MemoryEngineHub,
  type MemoryEngineOptions,
} from "./engine/memory.ts";
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
export { createMemoryStore } from "./store/memory/store.ts";
