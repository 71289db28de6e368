import type { AgentOutput } from '@parley/adapter-kit'
import { readRecording, recordingsIn, translateRecording } from '@parley/adapter-kit/testing'
import type { PermissionMode } from '@parley/protocol'
import { recordingsFolder } from '../../testing/recordings-folder.ts'
import { AcpAgent } from './agent.ts'
import type { Frame } from './native.ts'
import { claudeAcp, codexAcp, gemini, opencodeAcp, qwen } from './presets.ts'
import { initialState, type TranslateState, translate } from './translate.ts'

const folder = recordingsFolder(import.meta.dirname)

export const fixtureNames = recordingsIn(folder)

export function readFixture(name: string): Frame[] {
  return readRecording(folder, name)
}

/** The agents by the first word of the names of their recordings. */
const agents = { gemini, claude: claudeAcp, codex: codexAcp, opencode: opencodeAcp, qwen }

/** The initial state of a connection to a recorded agent. */
export function stateFor(name: string, requestedMode: PermissionMode = 'ask'): TranslateState {
  const [word = ''] = name.split('-')
  const { dialect, modes } = AcpAgent.parse(agents[word as keyof typeof agents])
  return initialState({ dialect, modes, connectionId: 'con_under_test', requestedMode })
}

/** The outputs of the translator: those before the first prompt, then those of each prompt. */
export function translateFixture(name: string, mode?: PermissionMode): AgentOutput[][] {
  const isPrompt = ({ from, message }: Frame) => from === 'host' && message.method === 'session/prompt'
  return translateRecording(readFixture(name), stateFor(name, mode), translate, isPrompt)
}

export function allOutputs(name: string, mode?: PermissionMode): AgentOutput[] {
  return translateFixture(name, mode).flat()
}
