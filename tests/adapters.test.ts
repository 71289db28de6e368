import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { capabilityCases, ruleAnchors } from '@parley/adapter-kit/testing'
import { capabilityNames } from '@parley/protocol'
import { expect, it } from 'vitest'
import { builtInAdapters } from '../packages/server/src/adapters/index.ts'
import { agentsDoc, agentsDocFile } from '../scripts/agents-doc.ts'
import { proofs, shownIn } from '../scripts/agents-proof.ts'
import { testedAgentFiles } from '../scripts/drift/agent-files.ts'

const adapters = resolve(import.meta.dirname, '../packages/server/src/adapters')
const folders = readdirSync(adapters, { withFileTypes: true }).filter((entry) => entry.isDirectory())

it('every adapter folder has an entry, a connection and a contract test', () => {
  expect(folders.length).toBeGreaterThan(0)
  for (const { name } of folders) {
    const files = readdirSync(join(adapters, name))
    expect(files, name).toEqual(expect.arrayContaining(['index.ts', 'connection.ts', `${name}.test.ts`]))
    const test = readFileSync(join(adapters, name, `${name}.test.ts`), 'utf8')
    expect(test, name).toMatch(/^adapterContract\(/m)
  }
})

it('every capability that can be declared has a contract case', () => {
  expect(Object.keys(capabilityCases).toSorted()).toEqual([...capabilityNames].toSorted())
})

it('the record of the contract suite has the release and the capabilities of every tested agent', () => {
  const how = 'run the suite again: node --conditions=source scripts/agents-proof.ts [agent…]'
  const recorded = Object.entries(proofs())
  const tested = testedAgentFiles()
  const declared = builtInAdapters().filter(({ id }) => tested.has(id))
  expect(recorded.map(([id]) => id).toSorted(), how).toEqual(declared.map(({ id }) => id).toSorted())
  for (const [id, { package: name, version, shown }] of recorded) {
    const adapter = declared.find((one) => one.id === id)
    const capabilities = capabilityNames.filter((capability) => adapter?.capabilities[capability])
    expect({ name, version, shown }, `${id}: ${how}`).toEqual({
      name: adapter?.install?.package,
      version: adapter?.install?.version,
      shown: capabilities,
    })
  }
})

it('a capability is proven only by cases that were run and passed', () => {
  const suite = 'mine satisfies the contract of an adapter '
  const cases = capabilityNames.map((name) => ({ name: `${suite}in shared sessions ${name}: not supported` }))
  const shown = { name: `${suite}usage: the usage of the context is measured` }
  const others = cases.filter(({ name }) => !name.includes(' usage: '))
  expect(shownIn('mine', [...others, shown])).toEqual(['usage'])
  expect(() => shownIn('mine', others)).toThrow('no case about usage')
  expect(() => shownIn('mine', [...others, { ...shown, failure: 'no' }])).toThrow('no')
})

it('docs/agents.md has the capabilities that are declared now', () => {
  const how = 'docs/agents.md is stale: node --conditions=source scripts/agents-doc.ts'
  expect(readFileSync(agentsDocFile, 'utf8') === agentsDoc(), how).toBe(true)
})

it('docs/adapters.md has one section for every rule that the contract suite can name', () => {
  const page = readFileSync(resolve(import.meta.dirname, '../docs/adapters.md'), 'utf8')
  const titles = [...page.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => title)
  const anchors = titles.map((title) => title.toLowerCase().replaceAll(' ', '-'))
  expect(ruleAnchors.length).toBeGreaterThan(50)
  expect(ruleAnchors.filter((rule) => !anchors.includes(rule))).toEqual([])
  expect(anchors.filter((anchor, index) => anchors.indexOf(anchor) !== index)).toEqual([])
})
