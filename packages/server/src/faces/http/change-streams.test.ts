import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { folderForTest } from '../../testing/temporary-folder.ts'
import { createWorkspace, type Workspace } from '../../workspace/index.ts'
import { createChangeStreams } from './change-streams.ts'

const eventually = <Value>(look: () => Value) => expect.poll(look, { timeout: 20_000 })

function repository(): string {
  const folder = folderForTest()
  execFileSync('git', ['init', '-q'], { cwd: folder })
  return folder
}

/**
 * The real workspace, except that a watch starts only when the reader's buffer is full. `reported` contains all reports
 * of the watch.
 */
function workspaceFor(outgoing: () => ServerResponse | undefined) {
  const real = createWorkspace({ env: process.env })
  const reported: string[] = []
  const watch: Workspace['watch'] = (folder, reader) => {
    const joined = eventually(() => outgoing()?.writableNeedDrain)
      .toBe(true)
      .then(() =>
        real.watch(folder, {
          watching: (facts) => reported.push('watching') && reader.watching(facts),
          changed: (news) => reported.push('changed') && reader.changed(news),
        }),
      )
    return () => void joined.then((leave) => leave())
  }
  return { reported, workspace: { ...real, watch } }
}

it('a slow reader gets first the kind of the watch of its folder, and then the message that any file may have changed', async () => {
  const folder = repository()
  let outgoing: ServerResponse | undefined
  const { reported, workspace } = workspaceFor(() => outgoing)
  const streams = createChangeStreams({ workspace, heartbeatMs: 1 })
  const server = createServer((request, response) => {
    // This exceeds the buffer of the kernel for a reader that does not read.
    request.socket.write(Buffer.alloc(32 * 1024 * 1024, '-'))
    outgoing = response
    streams.open({ path: folder, trusted: true }, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const reader = connect((server.address() as AddressInfo).port, '127.0.0.1')
  onTestFinished(() => void reader.destroy())
  reader.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')

  await eventually(() => reported).toEqual(['watching'])
  writeFileSync(join(folder, 'a.txt'), 'a')
  await eventually(() => reported).toContain('changed')
  let received = ''
  reader.setEncoding('utf8').on('data', (text: string) => {
    received += text.replace(/^-+/, '')
  })
  await eventually(() => received).toContain('event: changed')
  expect(received.match(/event: .*\ndata: .*/g)?.slice(0, 2)).toEqual([
    'event: watching\ndata: {"whole":true}',
    'event: changed\ndata: {}',
  ])
  streams.close()
})
