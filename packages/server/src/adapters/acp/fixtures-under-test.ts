import type { AgentOutput } from '@parley/adapter-kit'
import type { PermissionMode } from '@parley/protocol'
import { readRecording, recordingsFolder, recordingsIn } from '../../testing/replaying.ts'
import { AcpAgent } from './agent.ts'
import type { Frame } from './native.ts'
import { claudeAcp, gemini } from './presets.ts'
import { initialState, type TranslateState, translate } from './translate.ts'

const folder = recordingsFolder(import.meta.dirname)

export const fixtureNames = recordingsIn(folder)

export function readFixture(name: string): Frame[] {
  return readRecording(folder, name)
}

/** The initial state of a connection to a recorded agent. */
export function stateFor(name: string, requestedMode: PermissionMode = 'ask'): TranslateState {
  const { dialect, modes } = AcpAgent.parse(name.startsWith('gemini') ? gemini : claudeAcp)
  return initialState({ dialect, modes, connectionId: 'con_under_test', requestedMode })
}

/** The outputs of the translator: those before the first prompt, then those of each prompt. */
export function translateFixture(name: string, mode?: PermissionMode): AgentOutput[][] {
  const parts: AgentOutput[][] = [[]]
  let state = stateFor(name, mode)
  for (const frame of readFixture(name)) {
    if (frame.from === 'host' && frame.message.method === 'session/prompt') parts.push([])
    const next = translate(state, frame)
    state = next.state
    parts.at(-1)?.push(...next.outputs)
  }
  return parts
}

export function allOutputs(name: string, mode?: PermissionMode): AgentOutput[] {
  return translateFixture(name, mode).flat()
}
