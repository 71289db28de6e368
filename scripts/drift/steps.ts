import { mkdirSync, mkdtempSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { AgentPackage } from '@parley/adapter-kit'
import { testAgentsFolder } from '../../packages/server/src/testing/agents-folder.ts'
import type { AgentFiles } from './agent-files.ts'
import type { CaseResult } from './cases.ts'
import { declaredTypes } from './declared-types.ts'
import type { Steps } from './examine.ts'
import { record, recordingIn, withRecorded } from './recordings.ts'
import { releaseSteps } from './releases.ts'
import { runTests } from './run-tests.ts'

const progressMs = 20_000

export type StepOptions = {
  readonly files: AgentFiles
  readonly install: AgentPackage
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

/** A new folder for the examination of an agent, beside the folder of the tested releases. */
export function folderFor(agent: string): string {
  const folder = join(dirname(testAgentsFolder()), 'drift')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return mkdtempSync(join(folder, `${agent}-`))
}

/** The real steps for one agent. Except for the tested release, they write only into `folder`. */
export function realSteps(folder: string, options: StepOptions): Steps {
  const { files, say, signal } = options
  const tests = (what: string, names: readonly string[], env: Record<string, string>) =>
    timed({ what, say, work: () => runTests(names, env, signal), casesOf: (cases) => cases })
  return {
    say,
    ...releaseSteps(join(folder, 'agents'), options),
    declared: ({ id }, { agentsFolder }) => declaredTypes(id, agentsFolder),
    contract: ({ id }, { version, agentsFolder }) =>
      tests(`${id} ${version}: contract suite`, files.contract, { PARLEY_TEST_AGENTS: agentsFolder }),
    stored: () => recordingIn(files.fixtures),
    record({ id: agent }, release, again) {
      const name = `recordings-${release.version}${again ? '-again' : ''}`
      const recorder = { script: files.recorder, agent, into: join(folder, name), again, signal }
      const work = () => record(release, recorder)
      const what = `${agent} ${release.version}: ${again ? 'recordings of failing cases' : 'recordings'}`
      return timed({ what, say, work, casesOf: ({ cases }) => cases })
    },
    replay({ id }, recorded) {
      const all = mkdtempSync(join(folder, 'replayed-'))
      withRecorded(files.fixtures, recorded.folder, all)
      return tests(`${id}: tests on the recordings`, files.replay, { PARLEY_TEST_RECORDINGS: all })
    },
  }
}

type Timed<Result> = {
  readonly what: string
  readonly say: (line: string) => void
  work(): Promise<Result>
  casesOf(result: Result): readonly CaseResult[]
}

/** Does the work, and says what happens: at its start, at intervals, and at its end. */
async function timed<Result>({ what, say, work, casesOf }: Timed<Result>): Promise<Result> {
  const since = performance.now()
  const seconds = () => `${Math.round((performance.now() - since) / 1000)} s`
  say(`${what}: started`)
  const timer = setInterval(() => say(`${what}: ${seconds()}`), progressMs)
  try {
    const result = await work()
    const cases = casesOf(result)
    const failed = cases.filter(({ failure }) => failure !== undefined).length
    say(`${what}: ${cases.length} cases, ${failed} fail, in ${seconds()}`)
    return result
  } finally {
    clearInterval(timer)
  }
}
