export type { ContractSetup, ContractWorld, Scenario, Scenarios } from '@parley/adapter-kit/testing'
export {
  allowingPerson,
  connectInput,
  promptMessage,
  readToEnd,
  readTurn,
  readUntil,
  silentPerson,
} from '@parley/adapter-kit/testing'
export type { ScriptContext } from '../adapters/scripted/connection.ts'
export { createDemoAdapter } from '../adapters/scripted/demo.ts'
export { createGates, type Gates, type Sleep } from '../adapters/scripted/gates.ts'
export {
  createScriptedAdapter,
  type ScriptedAdapterOptions,
  scriptedCapabilities,
  scriptedModels,
} from '../adapters/scripted/index.ts'
export {
  type Script,
  type Step,
  type StepOf,
  type StepType,
  scriptInPrompt,
} from '../adapters/scripted/script.ts'
export {
  fileTranscript,
  memoryTranscript,
  type Transcript,
  type TranscriptEntry,
} from '../adapters/scripted/transcript.ts'
export { adapterContract } from './adapter-contract.ts'
export { claudeEnvironment } from './claude-environment.ts'
export { contractHost } from './contract-host.ts'
export {
  type Hold,
  type ModelAnswer,
  type ModelCall,
  type ModelRequest,
  type ModelServer,
  type ModelStep,
  startModelServer,
  type WireEvent,
} from './model-server.ts'
export type { StoreUnderTest } from './store-contract/tested-store.ts'
export { storeContract } from './store-contract.ts'
