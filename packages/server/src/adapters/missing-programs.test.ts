import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectInput } from '@parley/adapter-kit/testing'
import { describe, expect, it } from 'vitest'
import { folderForFile } from '../testing/temporary-folder.ts'
import { builtInAdapters } from './index.ts'

const place = folderForFile()

describe('an agent whose program is missing', () => {
  const parley = (words: string) => `npm start -- ${words}`
  const env = { PATH: place, HOME: place }
  const agents = { mine: { executable: 'no-such-program' }, claude: { executable: '/no/such/claude' } }
  const adapters = builtInAdapters({ env, agentsFolder: join(place, 'agents'), parley, agents })
  const missing = adapters.filter(({ id }) => id !== 'demo')

  it.each(missing.map((adapter) => [adapter.id, adapter] as const))(
    '%s: refusal, probe and connect report the same code and advice',
    async (id, adapter) => {
      const refusal = adapter.refusal?.()
      const { found, hint = 'none' } = await adapter.probe(AbortSignal.timeout(10_000))
      expect(found).toBe(false)
      expect(refusal).toMatchObject({ name: 'ParleyError', code: 'agent_not_found' })
      expect(refusal?.message).toMatch(/ was not found\. /)
      expect(refusal?.message.endsWith(hint)).toBe(true)
      const { code, message } = refusal ?? {}
      const starting = adapter.connect(connectInput({ cwd: place }))
      await expect(starting).rejects.toMatchObject({ code, message })
      if (id in agents) expect(hint).toMatch(/^There is no program \S+ ?/)
      else if (adapter.install) expect(hint).toBe(`Install it: npm start -- agents install ${id}`)
      else expect(hint).toMatch(/^To install it, see https:\/\//)
    },
  )

  it('is no longer refused as soon as its program exists', () => {
    const codex = adapters.find(({ id }) => id === 'codex')
    const path = join(place, 'codex')
    expect(codex?.refusal?.()).toBeDefined()
    writeFileSync(path, '#!/bin/sh\n', { mode: 0o755 })
    expect(codex?.refusal?.()).toBeUndefined()
    rmSync(path)
    expect(codex?.refusal?.()).toBeDefined()
  })
})
