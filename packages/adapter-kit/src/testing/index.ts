export { adapterContract, type TestRunner } from './adapter-contract.ts'
export {
  childrenWith,
  isRunning,
  killChildren,
  noneWith,
  processesIn,
  type RunningProcess,
} from './child-processes.ts'
export { Bench, BenchSession, onBench, Turn } from './contract/bench.ts'
export { capabilityCases } from './contract/capability-cases.ts'
export type {
  BackgroundScenario,
  CapabilityScenarios,
  ContractSetup,
  ContractWorld,
  FileEffect,
  GeneralScenarios,
  Memory,
  NotPossible,
  Rejoining,
  Saying,
  Scenario,
  Scenarios,
  Words,
} from './contract/setup.ts'
export { SharedBench } from './contract/shared-bench.ts'
export { type ContractCase, contractCases, expectShown, verdictOn } from './contract-cases.ts'
export type { ContractHost, ContractHosts } from './host.ts'
export {
  allowingPerson,
  connectInput,
  promptMessage,
  readToEnd,
  readTurn,
  readUntil,
  silentPerson,
} from './read-connection.ts'
export {
  type Cleaning,
  cleanLines,
  cleanRecording,
  numberedUuids,
  numbering,
  portPattern,
  type RecordedMessage,
  recordedProgram,
  uuidPattern,
  withoutNames,
} from './record.ts'
export {
  outputsOf,
  type Recordings,
  readRecording,
  recordingsHold,
  recordingsIn,
  replaying,
  translateRecording,
} from './recordings.ts'
export { generalRules, type RuleName, readAbout, ruleAnchors } from './rules.ts'
export { ContractFailure } from './run-case.ts'
