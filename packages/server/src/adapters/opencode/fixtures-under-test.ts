import type { AgentOutput } from '@parley/adapter-kit'
import { readRecording, recordingsIn, translateRecording } from '@parley/adapter-kit/testing'
import { withInterrupt } from '@parley/adapter-kit/translation'
import { recordingsFolder } from '../../testing/recordings-folder.ts'
import { translate } from './translate.ts'
import {
  initialState,
  type TranslateState,
  type Translation,
  withSteering,
  withTurn,
} from './translate-state.ts'

const folder = recordingsFolder(import.meta.dirname)

export const fixtureNames = recordingsIn(folder)

/** An event, or a mark that something was sent to OpenCode at this point. The type of a mark starts with `parley.`. */
export type FixtureLine = Readonly<Record<string, unknown>> & { readonly type: string }

export function readFixture(name: string): FixtureLine[] {
  return readRecording(folder, name)
}

/** The recorded session: the one that was prompted. */
export function rootOf(lines: readonly FixtureLine[]): string {
  const busy = lines.find(({ type }) => type === 'session.status') as
    | { properties: { sessionID: string } }
    | undefined
  return busy?.properties.sessionID ?? ''
}

export function beginning(lines: readonly FixtureLine[]): TranslateState {
  return initialState({ root: rootOf(lines), cwd: '/somewhere/project', servers: ['echo'], title: 'Parley' })
}

/** Applies one line of a recording. */
export function step(state: TranslateState, line: FixtureLine): Translation {
  switch (line.type) {
    case 'parley.turn':
      return { state: withTurn(state, Number(line.at)), outputs: [] }
    case 'parley.steer':
      return { state: withSteering(state, String(line.messageID)), outputs: [] }
    case 'parley.interrupt':
      return { state: withInterrupt(state), outputs: [] }
    default:
      return translate(state, line)
  }
}

/** The outputs of the translator for each prompt of a recording, up to the next prompt. */
export function translateFixture(name: string): AgentOutput[][] {
  const lines = readFixture(name)
  const [, ...turns] = translateRecording(lines, beginning(lines), step, ({ type }) => type === 'parley.turn')
  return turns
}

export function allOutputs(name: string): AgentOutput[] {
  return translateFixture(name).flat()
}
