import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { capabilityCases, ruleAnchors } from '@parley/adapter-kit/testing'
import { capabilityNames } from '@parley/protocol'
import { expect, it } from 'vitest'
import { agentsDoc, agentsDocFile } from '../scripts/agents-doc.ts'

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
