import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentAdapter } from '@parley/adapter-kit'
import type { NewSessionInput, Person } from '@parley/protocol'
import { pino } from 'pino'
import { afterAll } from 'vitest'
import { createGates } from '../../packages/server/src/adapters/scripted/gates.ts'
import { createScriptedAdapter } from '../../packages/server/src/adapters/scripted/index.ts'
import type { Script } from '../../packages/server/src/adapters/scripted/script.ts'
import { type Parley, startParley } from '../../packages/server/src/cli/start.ts'
import { browserFixture } from './console-fixture.ts'

/** A browser, and a real server whose agent plays the script that the prompt names. */
export function scriptedConsole(
  scripts: Readonly<Record<string, Script>>,
  steerGate: (words: string) => string | undefined = () => undefined,
) {
  const gates = createGates()
  const script = (text: string) => scripts[text] ?? []
  const work = consoleWith(async () => [createScriptedAdapter({ gates, script, steerGate })])
  const session = (prompt: string, cwd = work.folder) => work.create({ agent: 'scripted', cwd, prompt })
  return { ...work, session, gates }
}

/** A browser, and a real server in this process with the agents from `prepare`, which gets a folder for them. */
export function consoleWith(prepare: (home: string) => Promise<readonly AgentAdapter[]>) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-scripted-'))
  const token = 'scripted-test-token'
  let started: Parley | undefined
  const parley = () => {
    if (started) return started
    throw new Error('There is no server before the tests begin.')
  }
  const linkFrom = async (path: string, body: unknown) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const response = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return ((await response.json()) as { url: string }).url
  }
  const server = {
    get url() {
      return parley().http.url
    },
    newLink: () => linkFrom('/api/links', {}),
  }
  /** The server, for tabs of a new person. */
  const serverFor = (role: Person['role'], name: string) => ({
    url: server.url,
    newLink: () => linkFrom('/api/invites', { role, name }),
  })
  const tabs = browserFixture(server, async () => {
    started = await startParley({
      dataDir: join(folder, 'data'),
      hostname: '127.0.0.1',
      port: 0,
      token,
      logger: pino({ level: 'silent' }),
      adapters: [...(await prepare(join(folder, 'home')))],
    })
  })
  afterAll(async () => {
    await started?.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  const create = async (input: NewSessionInput) => (await parley().host.create(input)).id
  return { server, serverFor, ...tabs, create, folder, host: () => parley().host }
}
