/** `@turnstream/server/testing`: models that play a script, and store, log, engine and signals in memory. */
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
