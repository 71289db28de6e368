import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { installedVersion } from '@parley/adapter-kit/find-program'
import { type CapabilityName, capabilityNames } from '@parley/protocol'
import { builtInAdapters } from '../packages/server/src/adapters/index.ts'
import { testAgentsFolder } from '../packages/server/src/testing/agents-folder.ts'
import { testedAgentFiles } from './drift/agent-files.ts'
import type { CaseResult } from './drift/cases.ts'
import { runTests } from './drift/run-tests.ts'

/**
 * Runs the contract suite with the real program of each agent, or of the agents given as arguments, and records which
 * capabilities it has shown, with which release and when, in agents-proof.json. The record of an agent is replaced only
 * if its whole suite passes. Run `node --conditions=source scripts/agents-proof.ts [agent…]`.
 */
const root = resolve(import.meta.dirname, '..')
const proofFile = join(import.meta.dirname, 'agents-proof.json')

export type Proof = {
  readonly package: string
  readonly version: string
  /** The day of the run, in UTC. */
  readonly date: string
  /** The capabilities that the program has shown. The suite has tested that the others are refused. */
  readonly shown: readonly CapabilityName[]
}

export function proofs(): Readonly<Record<string, Proof>> {
  return JSON.parse(readFileSync(proofFile, 'utf8'))
}

/** The capabilities that the cases of an agent's suite show. Throws if a case failed or a capability has no case. */
export function shownIn(agent: string, cases: readonly CaseResult[]): CapabilityName[] {
  const suite = `${agent} satisfies the contract of an adapter `
  const own = cases.filter(({ name }) => name.startsWith(suite))
  const failed = own.find(({ failure }) => failure !== undefined)
  if (failed) throw new Error(`${failed.name}\n${failed.failure}`)
  const titles = own.map(({ name }) => name.slice(suite.length).replace(/^in shared sessions /, ''))
  return capabilityNames.filter((capability) => {
    const about = titles.filter((title) => title.startsWith(`${capability}: `))
    if (about.length === 0) throw new Error(`${agent}: no case about ${capability} was run`)
    return !about.includes(`${capability}: not supported`)
  })
}

/** The version of the package that the tests use. The two agents of OpenCode share one installation. */
function testedVersion(agent: string, name: string): string | undefined {
  const folder = testAgentsFolder()
  const installed = installedVersion(folder, agent, name) ?? installedVersion(folder, 'opencode', name)
  if (installed !== undefined) return installed
  return JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')).version
}

async function prove(named: readonly string[]): Promise<void> {
  const files = testedAgentFiles()
  const agents = builtInAdapters().filter(
    ({ id }) => files.has(id) && (named.length === 0 || named.includes(id)),
  )
  const signal = new AbortController().signal
  for (const { id, install } of agents) {
    const cases = await runTests(files.get(id)?.contract.slice(0, 1) ?? [], {}, signal)
    try {
      const shown = shownIn(id, cases)
      const version = install && testedVersion(id, install.package)
      if (!install || version === undefined) throw new Error('its package was not found')
      const date = new Date().toISOString().slice(0, 10)
      const record = { ...proofs(), [id]: { package: install.package, version, date, shown } }
      const sorted = Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      writeFileSync(proofFile, `${JSON.stringify(sorted, null, 2)}\n`)
      console.log(`${id} ${version}: ${shown.length} capabilities shown in ${cases.length} cases`)
    } catch (thrown) {
      console.error(`${id}: not proven. ${thrown instanceof Error ? thrown.message : thrown}`)
      process.exitCode = 1
    }
  }
}

if (import.meta.main) await prove(process.argv.slice(2))
