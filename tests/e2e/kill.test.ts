import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Client, createClient } from '@parley/client'
import { expect, it } from 'vitest'
import { KillableServer, randomFrom, sleep } from './killable-server.ts'
import { Watcher, Work } from './random-work.ts'

const kills = Number(process.env.PARLEY_KILLS ?? 12)
const seed = Number(process.env.PARLEY_KILL_SEED ?? Date.now() % 1_000_000)

it(`the server survives ${kills} kills at random moments (seed ${seed})`, async () => {
  const server = new KillableServer()
  const random = randomFrom(seed)
  await server.start()
  const clients = [connect(server), connect(server)] as const
  const cwd = join(server.folder, 'work')
  mkdirSync(cwd)
  const sessions = await Promise.all(
    [0, 1, 2].map(async () => (await clients[0].createSession({ agent: 'scripted', cwd })).id),
  )
  const watchers = clients.flatMap((client) => sessions.map((id) => new Watcher(client, id)))
  const work = new Work({ clients, sessions, random })
  try {
    const submitting = work.submitOnAndOn()
    const answering = watchers.slice(sessions.length).map((watcher) => work.answerOnAndOn(watcher))
    const failed = Promise.all([submitting, ...answering]).then(() => forever)
    for (let killed = 0; killed < kills; killed++) {
      await sleep(random() * 250)
      await server.end('SIGKILL')
      await server.start()
      await Promise.race([failed, Promise.all(watchers.map((watcher) => watcher.compare()))])
    }
    work.stopSubmitting()
    await Promise.race([failed, submitting])
    const { heads } = work
    await Promise.race([failed, Promise.all(watchers.map((watcher) => watcher.untilIdle(heads)))])
    work.stopAnswering()
    await Promise.all(answering)
    await Promise.all(watchers.map((watcher) => watcher.compare()))
    for (const watcher of watchers) expect(watcher.problems).toEqual([])
    const outcomes = await work.check(watchers.slice(0, sessions.length), cwd)
    console.log(JSON.stringify(outcomes))
    expect(outcomes.completed ?? 0).toBeGreaterThan(0)
  } catch (error) {
    throw new Error(`seed ${seed}: ${(error as Error).message}\n${server.log.slice(-2000)}`, { cause: error })
  } finally {
    for (const client of clients) client.close()
    await server.dispose()
  }
}, 900_000)

const forever = new Promise<never>(() => undefined)

function connect(server: KillableServer): Client {
  return createClient({ url: server.url, token: server.token, backoff: { baseMs: 5, maxMs: 60 } })
}
