import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TerminalServerFrame } from '@parley/protocol'
import { pino } from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startParley } from '../../server/src/cli/start.ts'
import { startCuttableProxy } from '../testing/cuttable-proxy.ts'
import { createClient } from './client.ts'

const token = 'a-token-for-terminals'

/** Real shells behind the real server, through a network that can be cut. */
async function start() {
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'parley-terminal-')))
  onTestFinished(() => rmSync(place, { recursive: true, force: true }))
  // The start files of the user's own shell must not affect the tests.
  vi.stubEnv('HOME', place)
  const parley = await startParley({
    dataDir: join(place, 'data'),
    hostname: '127.0.0.1',
    port: 0,
    token,
    logger: pino({ level: 'silent' }),
    allowedHosts: ['127.0.0.1'],
  })
  onTestFinished(() => parley.close())
  const proxy = await startCuttableProxy(parley.http.url)
  onTestFinished(() => proxy[Symbol.asyncDispose]())
  const client = createClient({ url: proxy.url, token, backoff: { baseMs: 5, maxMs: 50 } })
  onTestFinished(() => client.close())
  const { id } = await parley.host.create({ agent: 'demo', cwd: place })
  const { terminalId } = await client.call('openTerminal', { params: { id }, body: { cols: 80, rows: 24 } })
  return { client, proxy, terminalId }
}

function watch(client: ReturnType<typeof createClient>, terminalId: string) {
  const frames: TerminalServerFrame[] = []
  const states: string[] = []
  const link = client.watchTerminal(terminalId, {
    onFrame: (frame) => frames.push(frame),
    onState: (state) => states.push(state),
  })
  const text = () => frames.map((frame) => ('data' in frame ? frame.data : '')).join('')
  return { frames, states, link, text }
}

const eventually = <Value>(look: () => Value) => expect.poll(look, { timeout: 20_000 })

test('keys are sent, output is received, and the current screen is sent after a reconnect', async () => {
  const { client, proxy, terminalId } = await start()
  const { frames, states, link, text } = watch(client, terminalId)
  expect(link.send({ type: 'input', data: 'too early' })).toBe(false)
  await eventually(() => states).toEqual(['open'])
  expect(link.send({ type: 'input', data: 'echo here-$((40+2))\r' })).toBe(true)
  await eventually(text).toContain('here-42')
  frames.length = 0
  proxy.cut()
  await eventually(() => states).toEqual(['open', 'lost', 'open'])
  await eventually(() => frames[0]?.type).toBe('screen')
  expect(text()).toContain('here-42')
})

test('an invalid token is an error that the watcher gets once', async () => {
  const { proxy, terminalId } = await start()
  using stranger = createClient({ url: proxy.url, token: 'wrong', backoff: { baseMs: 1, maxMs: 1 } })
  const { promise, resolve } = Promise.withResolvers<[string, string | undefined]>()
  stranger.watchTerminal(terminalId, {
    onFrame: () => {},
    onState: (state, error) => resolve([state, error?.code]),
  })
  expect(await promise).toEqual(['refused', 'unauthorized'])
})

test('an unknown terminal is reported as gone and not requested again; closing the client ends the watch', async () => {
  const { client, terminalId } = await start()
  const none = watch(client, 'trm_none')
  await eventually(() => none.states.at(-1)).toBe('gone')
  const count = none.states.length
  const { states, link } = watch(client, terminalId)
  await eventually(() => states).toEqual(['open'])
  client.close()
  await eventually(() => link.send({ type: 'input', data: 'x' })).toBe(false)
  expect(none.states).toHaveLength(count)
  expect(states).toEqual(['open'])
})
