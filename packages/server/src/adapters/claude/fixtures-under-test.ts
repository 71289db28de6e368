import type { AgentOutput } from '@parley/adapter-kit'
import { readRecording, recordingsIn } from '@parley/adapter-kit/testing'
import { recordingsFolder } from '../../testing/recordings-folder.ts'
import { initialState, type TranslateContext, translate, withSteering, withTurn } from './translate.ts'

const folder = recordingsFolder(import.meta.dirname)

export const fixtureNames = recordingsIn(folder)

export type FixtureMessage = Readonly<Record<string, unknown>> & { readonly type: string }

export function readFixture(name: string): FixtureMessage[] {
  return readRecording(folder, name)
}

/** The outputs of the translator for each prompt of a recording, up to the next prompt. */
export function translateFixture(name: string, context: TranslateContext = {}): AgentOutput[][] {
  const turns: AgentOutput[][] = []
  let state = initialState(context)
  for (const message of readFixture(name)) {
    const { type, state: now, command_uuid: uuid } = message
    if (type === 'command_lifecycle' && now === 'queued') {
      if (!state.turn) turns.push([])
      state = state.turn ? withSteering(state, String(uuid), 'steered') : withTurn(state, String(uuid))
    } else if (turns.length === 0) {
      turns.push([])
      state = withTurn(state, 'never taken up')
    }
    const next = translate(state, message)
    state = next.state
    turns.at(-1)?.push(...next.outputs)
  }
  return turns
}

export function allOutputs(name: string, context?: TranslateContext): AgentOutput[] {
  return translateFixture(name, context).flat()
}
