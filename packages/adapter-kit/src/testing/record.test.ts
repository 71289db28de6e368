import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { folderForTest } from '../../../server/src/testing/temporary-folder.ts'
import type { AgentOutput } from '../agent-adapter.ts'
import { noOutput } from '../translation.ts'
import { cleanRecording, type RecordedMessage, recordedProgram } from './record.ts'
import { type Recordings, recordingsHold, translateRecording } from './recordings.ts'

const key = 'sk-very-secret'
const session = '3f2b8c1e-0000-4000-8000-aaaaaaaaaaaa'

/** Answers each message with what a real agent could say: its key, its folder, its session and the time. */
const agent = `
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { text } = JSON.parse(line)
    const said = { text, key: '${key}', folder: process.cwd(), session: '${session}', id: 'call_' + text, at: new Date() }
    console.log(JSON.stringify(said))
  })`

it('the messages of a host and an agent are recorded in both directions, without secrets, paths, ids and times', async () => {
  const folder = folderForTest()
  const [file, program] = [join(folder, 'recorded.jsonl'), join(folder, 'agent.cjs')]
  writeFileSync(program, agent)
  const { command, args } = recordedProgram(file, { command: process.execPath, args: [program] })
  const child = spawn(command, args, { cwd: folder, stdio: ['pipe', 'pipe', 'inherit'] })
  const heard: string[] = []
  child.stdout.setEncoding('utf8').on('data', (text: string) => heard.push(text))
  child.stdin.write(`{"text":"one","cwd":${JSON.stringify(folder)}}\n`)
  child.stdin.end('{"text":"two"}\n')
  expect(await once(child, 'close')).toEqual([0, null])
  expect(heard.join('')).toContain(key)

  const cleaning = { paths: { [folder]: '/somewhere' }, secrets: [key], ids: /call_\w+/g }
  const lines = cleanRecording(file, cleaning).map((line) => JSON.parse(line) as RecordedMessage)
  const common = { key: 'secret', folder: '/somewhere', at: '2026-01-01T00:00:00.000Z' }
  const said = { ...common, session: '00000000-0000-4000-8000-000000000001' }
  const by = (from: 'host' | 'agent') => lines.filter((line) => line.from === from)
  expect(by('host').map(({ message }) => message)).toEqual([
    { text: 'one', cwd: '/somewhere' },
    { text: 'two' },
  ])
  expect(by('agent').map(({ message }) => message)).toEqual([
    { ...said, text: 'one', id: 'id-1' },
    { ...said, text: 'two', id: 'id-2' },
  ])
})

const written = (blockId: string, text: string): AgentOutput => ({ type: 'text.written', blockId, text })

it('a recording is translated turn by turn', () => {
  const lines = ['hello', 'turn', 'one', 'turn', 'two']
  const step = (count: number, line: string) =>
    line === 'turn' ? noOutput(count) : { state: count + 1, outputs: [written(String(count), line)] }
  const parts = translateRecording(lines, 0, step, (line) => line === 'turn')
  expect(parts).toEqual([[written('0', 'hello')], [written('1', 'one')], [written('2', 'two')]])
})

it.each<[string, Partial<Recordings>, RegExp]>([
  [
    'contains no trace',
    { read: () => ({ cwd: '/home/ada' }) },
    /a trace: '\/home\/' does not equal undefined/,
  ],
  ['contains no trace', { read: () => ({ cwd: process.cwd() }) }, /the path of this project/],
  [
    'leaves nothing unrecognised',
    { outputs: () => [{ type: 'agent.unrecognised', native: 1, reason: 'odd' }] },
    /odd/,
  ],
  [
    'streams the text',
    { outputs: () => [{ type: 'text.streamed', blockId: 'a', text: 'x' }, written('a', 'y')] },
    /a: 'x' does not equal 'y'/,
  ],
  ['streams the text', { outputs: () => [written('a', 'y'), written('a', 'z')] }, /the number of blocks/],
])('a test of a recording fails with the reason: %s', async (title, changes, reason) => {
  const failures = new Map<string, unknown>()
  const runs: Promise<void>[] = []
  const good = { names: ['one'], traces: /\/home\//, read: () => [], outputs: () => [written('a', 'y')] }
  recordingsHold(
    { ...good, ...changes },
    {
      describe: (_title, define) => define(),
      it: (name, _options, run) => runs.push(run().catch((error: unknown) => void failures.set(name, error))),
    },
  )
  await Promise.all(runs)
  expect(runs).toHaveLength(4)
  const [[failed = '', error] = []] = [...failures]
  expect(failures.size).toBe(1)
  expect(failed.startsWith(title)).toBe(true)
  expect((error as Error).message).toMatch(reason)
})
