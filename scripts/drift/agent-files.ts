import { globSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')
const adapters = join(root, 'packages/server/src/adapters')

/** The files with which an agent is tested and recorded. */
export type AgentFiles = {
  /** Test files with the real program, relative to the repository. */
  readonly contract: readonly string[]
  /** Test files on recordings, relative to the repository. */
  readonly replay: readonly string[]
  readonly fixtures: string
  readonly recorder: string
}

/** The files of every agent whose real program the contract suite tests, by agent id. */
export function testedAgentFiles(): ReadonlyMap<string, AgentFiles> {
  const files = globSync('**/*.test.ts', { cwd: adapters }).toSorted()
  const suites = files.flatMap((file) =>
    [...readFileSync(join(adapters, file), 'utf8').matchAll(/^adapterContract\('([^']+)'/gm)].map(
      ([, agent = '']) => [agent, filesOf(file)] as const,
    ),
  )
  return new Map(suites)
}

function filesOf(suite: string): AgentFiles {
  const [adapter = ''] = suite.split('/')
  const inRepository = (name: string) => relative(root, join(adapters, name))
  return {
    contract: [inRepository(suite), inRepository(`${adapter}/native.test.ts`)],
    replay: [inRepository(`${adapter}/fixtures.test.ts`)],
    fixtures: join(adapters, adapter, 'fixtures'),
    recorder: join(root, `packages/server/scripts/record-${adapter}-fixtures.ts`),
  }
}
