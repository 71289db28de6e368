import type { AgentOutput } from '@parley/adapter-kit'
import { withInterrupt } from '@parley/adapter-kit/translation'
import { readRecording, recordingsFolder, recordingsIn } from '../../testing/replaying.ts'
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
  const turns: AgentOutput[][] = []
  let state = beginning(lines)
  for (const line of lines) {
    const next = step(state, line)
    state = next.state
    if (line.type === 'parley.turn') turns.push([])
    turns.at(-1)?.push(...next.outputs)
  }
  return turns
}

export function allOutputs(name: string): AgentOutput[] {
  return translateFixture(name).flat()
}
