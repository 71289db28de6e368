import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll } from 'vitest'
import { createGates } from '../../packages/server/src/adapters/scripted/gates.ts'
import { createScriptedAdapter } from '../../packages/server/src/adapters/scripted/index.ts'
import type { Script } from '../../packages/server/src/adapters/scripted/script.ts'
import { type Parley, startParley } from '../../packages/server/src/cli/start.ts'
import { browserAtWork } from './console-at-work.ts'

/** A real server whose agent plays, for each prompt, the script of that name; and a browser. */
export function scriptedConsole(scripts: Readonly<Record<string, Script>>) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-scripted-'))
  const token = 'scripted-test-token'
  const gates = createGates()
  let started: Parley | undefined
  const parley = () => {
    if (started) return started
    throw new Error('There is no server before the tests begin.')
  }
  const server = {
    get url() {
      return parley().http.url
    },
    async newLink() {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const response = await fetch(`${server.url}/api/links`, { method: 'POST', headers, body: '{}' })
      if (!response.ok) throw new Error(`links: ${response.status} ${await response.text()}`)
      return ((await response.json()) as { url: string }).url
    },
  }
  const { openTab, browser } = browserAtWork(server, async () => {
    started = await startParley({
      dataDir: join(folder, 'data'),
      hostname: '127.0.0.1',
      port: 0,
      token,
      logger: pino({ level: 'silent' }),
      adapters: [createScriptedAdapter({ gates, script: (text) => scripts[text] ?? [] })],
    })
  })
  afterAll(async () => {
    await started?.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const session = async (prompt: string, cwd = folder) =>
    (await parley().host.create({ agent: 'scripted', cwd, prompt })).id
  return { server, openTab, browser, session, folder, gates, host: () => parley().host }
}
