import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { createClient } from '@parley/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { compileCache } from '../../packages/server/src/testing/compile-cache.ts'
import { folderForFile } from '../../packages/server/src/testing/temporary-folder.ts'

/** Runs the example programs as a reader of the documentation runs them. */
const root = resolve(import.meta.dirname, '../..')
const place = folderForFile()
const env = { PATH: process.env.PATH, HOME: place, ...compileCache() }

const program = (name: string) => join(root, 'examples', `${name}.ts`)
const start = (name: string, args: readonly string[]) => [
  '--conditions=source',
  '--no-warnings',
  program(name),
  ...args,
]

async function run(name: string, ...args: string[]): Promise<string> {
  return runWith([], name, ...args)
}

async function runWith(options: readonly string[], name: string, ...args: string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [...options, ...start(name, args)], {
    cwd: place,
    env,
  })
  expect(stderr).toBe('')
  return stdout
}

/** Starts a server and returns its URL. The server is ended with the test. */
async function serving(name: string): Promise<string> {
  const child: ChildProcess = spawn(process.execPath, start(name, ['0']), {
    cwd: place,
    env: { ...env, PARLEY_TOKEN: 'a-token-for-the-test' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  })
  for await (const line of createInterface({ input: child.stdout! })) {
    const url = /^ready (.+)$/.exec(line)?.[1]
    if (url !== undefined) return url
  }
  throw new Error(`${name} did not start`)
}

describe('the examples', () => {
  it('run one prompt and print its answer', async () => {
    const said = await run('one-prompt', 'demo', 'something else')
    expect(said).toContain('You said: something else')
    expect(said.trimEnd()).toMatch(/\(completed\)$/)
  })

  it('stream to a terminal, and continue the same session', async () => {
    const file = join(place, 'sessions.sqlite')
    const first = await run('stream-to-terminal', file)
    expect(first).toContain('I thought about it, and the second way is better.\n')
    expect(first).toMatch(/\(turn of \d+ ms: completed\)/)
    const second = await run('stream-to-terminal', file, 'demo', 'run a command')
    expect(second).toMatch(/\n> .+\n/)
    expect(second).not.toContain('I thought about it')
  })

  it('approve tools in code', async () => {
    const said = await run('approve-in-code')
    expect(said).toContain('allowed: Bash (npm run lint)')
    expect(said).toContain('denied: Bash (npm run typecheck)')
  })

  it('define a host tool', async () => {
    const said = await run('host-tool')
    expect(said).toContain('called: host:read_ticket\ncompleted: [{"type":"text","text":"The door sticks."}]')
    expect(said).toContain('there is no ticket 8')
  })

  it('define an adapter in less than a hundred lines', async () => {
    expect(await run('custom-adapter')).toBe('The result is 7.\n')
    expect(readFileSync(program('calculator'), 'utf8').split('\n').length).toBeLessThan(100)
  })

  it('observe a host with a channel, metrics and, with an SDK, spans', async () => {
    const said = await run('telemetry')
    expect(said).toContain('demo: completed, 3400 tokens out, $0.1234\n')
    expect(said).toContain('parley_turns_total{agent="demo",outcome="completed"} 1\n')
    expect(said).not.toContain('invoke_agent')
    const traced = await runWith(['--import', program('open-telemetry')], 'telemetry')
    expect(traced).toContain("name: 'invoke_agent Demo'")
    expect(traced).toContain("'gen_ai.usage.output_tokens': 3400")
  })

  it('use an agent as a language model of the AI SDK', async () => {
    const hooks = ['--import', program('ai-sdk-in-checkout'), ...start('language-model', [])]
    const { stdout, stderr } = await promisify(execFile)(process.execPath, hooks, { cwd: place, env })
    expect(stderr).toBe('')
    expect(stdout).toBe('The tool says: The door sticks.\nOil the hinges.\nsessions: 1\n')
  })

  it('embed Parley under a path in a node:http server with its own pages', async () => {
    const url = await serving('embed-in-node')
    expect(await (await fetch(url)).text()).toBe('The page of the program itself.\n')
    expect((await fetch(`${url}/parley/api/sessions`)).status).toBe(401)
    using client = createClient({ url: `${url}/parley`, token: 'a-token-for-the-test' })
    const { id } = await client.createSession({ agent: 'demo', cwd: place, prompt: 'think' })
    const types: string[] = []
    for await (const item of client.feed(id)) {
      if (item.type === 'event') types.push(item.event.type)
      if (types.at(-1) === 'turn.ended') break
    }
    expect(types[0]).toBe('session.created')
    const accept = { accept: 'text/event-stream', authorization: 'Bearer a-token-for-the-test' }
    const stream = await fetch(`${url}/parley/api/sessions/${id}/events`, { headers: accept })
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
    expect((await reader.read()).value).toContain('event: following')
    await reader.cancel()
    const messages = await client.call('chatMessages', { params: { id } })
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
  })

  it('embed Parley in a Hono app with its own sign-in', async () => {
    const url = await serving('embed-in-hono')
    expect(await (await fetch(url)).text()).toBe('The page of the program itself.\n')
    expect((await fetch(`${url}/agents/api/sessions`)).status).toBe(401)
    const headers = { 'x-user': 'ada', 'content-type': 'application/json' }
    const body = JSON.stringify({ agent: 'demo', cwd: place })
    const made = await fetch(`${url}/agents/api/sessions`, { method: 'POST', headers, body })
    expect(made.status).toBe(201)
    const listed = await fetch(`${url}/agents/api/sessions`, { headers })
    expect(await listed.json()).toMatchObject({ sessions: [{ agent: 'demo' }] })
  })
})
