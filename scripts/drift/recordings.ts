import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { CaseResult } from './cases.ts'
import type { Again, Recorded, Release } from './examine.ts'
import { runNode } from './run-node.ts'
import type { Recording } from './shapes.ts'

const root = resolve(import.meta.dirname, '../..')

type Recorder = {
  /** The script that records the scenarios of an adapter. */
  readonly script: string
  readonly agent: string
  readonly into: string
  /** Copies the earlier recordings, and replaces those of these scenarios. */
  readonly again?: Again | undefined
  readonly signal: AbortSignal
}

/** Records all scenarios of an agent with a release. */
export async function record(
  { agentsFolder }: Release,
  { script, agent, into, again, signal }: Recorder,
): Promise<Recorded> {
  mkdirSync(into, { recursive: true })
  if (again) cpSync(again.recorded.folder, into, { recursive: true })
  const cases: CaseResult[] = []
  const onLine = (line: string) => {
    const found = caseIn(line)
    if (found) cases.push(found)
  }
  const args = [
    '--conditions=source',
    script,
    '--agent',
    agent,
    '--into',
    into,
    '--json',
    ...(again?.scenarios ?? []),
  ]
  const env = { PARLEY_TEST_AGENTS: agentsFolder }
  const { exitCode, output } = await runNode(args, { cwd: root, env, signal, onLine })
  if (exitCode !== 0) throw new Error(`the recorder ended with exit code ${exitCode}:\n${output}`)
  return { recording: recordingIn(into), cases, folder: into }
}

/** A line of the recorder: the name of a scenario, and the error if it could not be recorded. */
function caseIn(line: string): CaseResult | undefined {
  try {
    const { scenario, error } = JSON.parse(line) as { scenario?: string; error?: string }
    if (scenario === undefined) return undefined
    return { name: scenario, ...(error !== undefined && { failure: error }) }
  } catch {
    return undefined
  }
}

export function recordingIn(folder: string): Recording {
  const names = readdirSync(folder).filter((file) => file.endsWith('.jsonl'))
  return new Map(
    names.map((file) => {
      const lines = readFileSync(join(folder, file), 'utf8').trim().split('\n')
      return [file.replace(/\.jsonl$/, ''), lines.map((line) => JSON.parse(line) as unknown)]
    }),
  )
}

/** Copies the stored recordings of an adapter into a folder, and replaces those that were recorded now. */
export function withRecorded(stored: string, recorded: string, folder: string): void {
  cpSync(stored, folder, { recursive: true })
  cpSync(recorded, folder, { recursive: true })
}
