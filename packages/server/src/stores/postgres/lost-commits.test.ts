import { expect, it, vi } from 'vitest'
import { folderForFile } from '../../testing/temporary-folder.ts'
import { nodeHosts, script } from './hosts-under-test.ts'
import { PostgresServer } from './postgres-under-test.ts'

/** Tests a failover to a standby that has not received the last commits. */

const server = await PostgresServer.forFile()
const folder = folderForFile()
const open = nodeHosts(server, folder)

it('after a failover that loses events, readers start again and the session continues', async () => {
  const url = await server.database()
  const [one, other] = [await open(url), await open(url)]
  const { id } = await one.host.create({ agent: 'scripted', cwd: folder })
  const prompt = async (commandId: string) => {
    const text = script({ type: 'text', text: commandId })
    await one.host.command(id, { type: 'prompt.submit', commandId, text })
  }
  const turns = (count: number) =>
    vi.waitUntil(async () => (await one.host.state(id)).turns === count, 30_000)
  await prompt('kept')
  await turns(1)
  await server.admin(
    (sql) => sql`CREATE TABLE parley.standby AS SELECT * FROM parley.sessions WHERE id = ${id}`,
    url,
  )
  await prompt('lost')
  await turns(2)

  const readers = [one, other].map(({ host }) => new Reader(host, id))
  const { head, epoch } = await one.host.read(id, { after: 0, limit: 1_000 })
  await vi.waitUntil(() => readers.every((reader) => reader.seqs.at(-1) === head), 30_000)
  await server.admin(async (sql) => {
    await sql`UPDATE parley.sessions s SET head = p.head, state = p.state FROM parley.standby p WHERE s.id = p.id`
    await sql`DELETE FROM parley.events e USING parley.sessions s WHERE e.session_key = s.key AND e.seq > s.head`
  }, url)

  await vi.waitUntil(
    () =>
      prompt('after').then(
        () => true,
        () => false,
      ),
    30_000,
  )
  await turns(2)
  const stored = await one.host.read(id, { after: 0, limit: 1_000 })
  expect(stored.epoch).not.toBe(epoch)
  expect(JSON.stringify(stored.events)).not.toContain('lost')
  const hasAll = ({ epochs, seqs }: Reader) => epochs.at(-1) === stored.epoch && seqs.length === stored.head
  await vi.waitUntil(() => readers.every(hasAll), 30_000)
  for (const { epochs } of readers) expect(epochs[0]).toBe(epoch)
})

/** Records each epoch that a reader receives, and the seqs of the events since the last epoch. */
class Reader {
  readonly epochs: string[] = []
  seqs: number[] = []

  constructor(host: Awaited<ReturnType<typeof open>>['host'], id: string) {
    void host.follow(
      id,
      {},
      {
        following: (start) => {
          this.epochs.push(start.epoch)
          this.seqs = []
        },
        deliver: (batch) => {
          for (const item of batch) if (item.kind === 'event') this.seqs.push(item.seq)
        },
        caughtUp: () => undefined,
        ended: () => undefined,
      },
    )
  }
}
