import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { startParley } from '../../server/src/cli/start.ts'
import { startCuttableProxy } from '../testing/cuttable-proxy.ts'
import { createClient } from './client.ts'

const token = 'a-token-for-changes'
const eventually = <Value>(look: () => Value) => expect.poll(look, { timeout: 20_000 })

/** A real repository behind the real server, through a network that can be cut. */
async function start() {
  const place = realpathSync(mkdtempSync(join(tmpdir(), 'parley-changes-')))
  onTestFinished(() => rmSync(place, { recursive: true, force: true }))
  const folder = join(place, 'project')
  mkdirSync(join(folder, 'src'), { recursive: true })
  writeFileSync(join(folder, 'src/a.ts'), 'a\n')
  execFileSync('git', ['init', '-q'], { cwd: folder })
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
  const { id } = await parley.host.create({ agent: 'demo', cwd: folder })
  return { client, proxy, id, folder, parley }
}

function listen(client: ReturnType<typeof createClient>, id: string) {
  const news: (readonly string[] | undefined)[] = []
  const states: string[] = []
  const leave = client.watchChanges(id, {
    onChanged: (paths) => news.push(paths),
    onState: (state) => states.push(state),
  })
  return { news, states, leave }
}

test('writes in the folder are reported until the watch ends, even after a reconnect', async () => {
  const { client, proxy, id, folder } = await start()
  const { news, states, leave } = listen(client, id)
  await eventually(() => states).toEqual(['watching'])
  writeFileSync(join(folder, 'src/a.ts'), 'b\n')
  await eventually(() => news.at(-1)).toEqual(['src/a.ts'])
  proxy.cut()
  await eventually(() => states).toEqual(['watching', 'lost', 'watching'])
  writeFileSync(join(folder, 'src/b.ts'), 'b\n')
  await eventually(() => news.at(-1)).toEqual(['src/b.ts'])

  leave()
  const reported = news.length
  const other = listen(client, id)
  await eventually(() => other.states).toEqual(['watching'])
  writeFileSync(join(folder, 'src/c.ts'), 'c\n')
  await eventually(() => other.news.at(-1)).toEqual(['src/c.ts'])
  expect(news).toHaveLength(reported)
})

test('an unknown session is refused once; a server that stops ends the stream', async () => {
  const { client, id, parley } = await start()
  const nobody = listen(client, 'ses_nobody')
  await eventually(() => nobody.states).toEqual(['refused'])
  const { states } = listen(client, id)
  await eventually(() => states).toEqual(['watching'])
  await parley.close()
  await eventually(() => states[1]).toBe('lost')
})
