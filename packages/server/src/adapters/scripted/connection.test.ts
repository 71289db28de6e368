import { mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentOutput, Person } from '@parley/adapter-kit'
import {
  connectInput,
  promptMessage,
  readToEnd,
  readTurn,
  readUntil,
  silentPerson,
} from '@parley/adapter-kit/testing'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { folderForFile } from '../../testing/temporary-folder.ts'
import { createGates } from './gates.ts'
import { createScriptedAdapter, type ScriptedAdapterOptions } from './index.ts'
import { inPieces, inWords } from './play-text.ts'
import { type Script, scriptInPrompt } from './script.ts'
import { fileTranscript } from './transcript.ts'

const json = (...steps: Script) => JSON.stringify(steps)
const scratch = folderForFile()
const never = new Promise<never>(() => undefined)

const everyStep: Script = [
  { type: 'text', text: 'one two', pieces: 3 },
  { type: 'thinking', text: 'hm' },
  { type: 'tool', name: 'A', output: ['a', 'b'] },
  { type: 'tool', name: 'B', order: 'result-first' },
  { type: 'tool', name: 'C', order: 'result-only' },
  { type: 'tool', name: 'D', order: 'call-only' },
  {
    type: 'parallel',
    calls: [
      { type: 'permission', name: 'E' },
      { type: 'permission', name: 'F' },
    ],
  },
  { type: 'subagent', title: 'sub', steps: [{ type: 'text', text: 'in' }] },
  { type: 'flood', deltas: 5, size: 3, blocks: 2, of: 'tool-output' },
  { type: 'end', result: 'done' },
]

describe('a script', () => {
  it('gives the same outputs when it is played twice', async () => {
    const play = async () => {
      const connection = await createScriptedAdapter().connect(connectInput())
      await connection.send(promptMessage(json(...everyStep)))
      return readTurn(connection)
    }
    const first = await play()
    expect(first.length).toBeGreaterThan(40)
    expect(await play()).toEqual(first)
  })

  it('keeps every character of a streamed text', () => {
    const text = fc.string({ unit: 'binary' })
    fc.assert(fc.property(text, (whole) => inWords(whole).join('') === whole))
    fc.assert(
      fc.property(text, fc.integer({ min: 1 }), (whole, count) => inPieces(whole, count).join('') === whole),
    )
    expect(inPieces('a😀b', 3)).toEqual(['a', '😀', 'b'])
  })

  it('is an echo of the prompt if the prompt contains no script', () => {
    expect(scriptInPrompt('[not json')).toEqual([{ type: 'text', text: '[not json' }])
    expect(scriptInPrompt('[1]')).toEqual([{ type: 'text', text: '[1]' }])
  })

  it('is not played if the session folder does not exist', async () => {
    const connecting = createScriptedAdapter().connect(connectInput({ cwd: join(scratch, 'nowhere') }))
    await expect(connecting).rejects.toMatchObject({ name: 'ParleyError', code: 'validation_error' })
  })

  it('disconnects the agent if it throws, and reports that as an output', async () => {
    const adapter = createScriptedAdapter({
      script: () => {
        throw new Error('no script today')
      },
    })
    const connection = await adapter.connect(connectInput())
    await connection.send(promptMessage('hello'))
    expect((await readToEnd(connection)).at(-1)).toMatchObject({
      type: 'agent.disconnected',
      reason: 'crashed',
    })
  })
})

describe('the reader of outputs', () => {
  it('pauses a flood by not reading', async () => {
    const gates = createGates()
    const flood: Script = [
      { type: 'flood', deltas: 100, size: 4 },
      { type: 'wait', gate: 'after' },
    ]
    const connection = await createScriptedAdapter({ gates }).connect(connectInput())
    await connection.send(promptMessage(json(...flood)))
    let reached = false
    const reaching = gates.reached('after').then(() => {
      reached = true
    })
    await readUntil(connection, (output) => output.type === 'text.streamed')
    await new Promise((resolve) => setImmediate(resolve))
    expect(reached).toBe(false)
    const rest = readTurn(connection)
    await reaching
    gates.open('after')
    expect((await rest).filter((output) => output.type === 'text.streamed')).toHaveLength(99)
  })

  it('receives a large flood completely', async () => {
    const connection = await createScriptedAdapter().connect(connectInput())
    await connection.send(promptMessage(json({ type: 'flood', deltas: 50_000, size: 4, blocks: 3 })))
    const outputs = await readTurn(connection)
    const written = outputs.flatMap((output) => (output.type === 'text.written' ? [output.text.length] : []))
    expect(outputs.filter((output) => output.type === 'text.streamed')).toHaveLength(50_000)
    expect(written.reduce((sum, length) => sum + length)).toBe(200_000)
  })

  it('closes the connection when it stops iterating', async () => {
    const connection = await createScriptedAdapter().connect(connectInput())
    await connection.send(promptMessage(json({ type: 'hang', stubborn: true })))
    for await (const output of connection.events) if (output.type === 'native') break
    expect(await readToEnd(connection)).toEqual([])
  })
})

describe('an interrupted agent', () => {
  it('ends its turn and stops its subagents', async () => {
    const connection = await createScriptedAdapter().connect(connectInput())
    await connection.send(promptMessage(json({ type: 'subagent', title: 'sub', steps: [{ type: 'hang' }] })))
    await readUntil(connection, (output) => output.type === 'task.updated')
    await connection.interrupt()
    const rest = await readTurn(connection)
    expect(rest.slice(-2)).toMatchObject([
      { type: 'task.updated', status: 'stopped' },
      { type: 'turn.ended', outcome: 'cancelled' },
    ])
  })

  it('ignores an answer that comes after the interrupt', async () => {
    const { promise, resolve } = Promise.withResolvers<{ outcome: 'allowed'; requestId: string }>()
    const person: Person = { ...silentPerson, permit: () => promise }
    const cwd = mkdtempSync(join(scratch, 'late-'))
    const connection = await createScriptedAdapter().connect(connectInput({ person, cwd }))
    const effect = { writeFile: { path: 'late.txt', text: 'late' } }
    await connection.send(promptMessage(json({ type: 'permission', name: 'Write', effect })))
    await readUntil(connection, (output) => output.type === 'tool-call.called')
    const rest = readTurn(connection)
    await connection.interrupt()
    resolve({ outcome: 'allowed', requestId: 'req' })
    expect((await rest).at(-1)).toMatchObject({ outcome: 'cancelled' })
    expect(() => readFileSync(join(cwd, 'late.txt'))).toThrow('ENOENT')
  })

  it('continues until it is closed if it is stubborn', async () => {
    const connection = await createScriptedAdapter().connect(connectInput())
    await connection.send(promptMessage(json({ type: 'text', text: 'no' }, { type: 'hang', stubborn: true })))
    await readUntil(connection, (output) => output.type === 'text.written')
    const rest = readToEnd(connection)
    await connection.interrupt()
    await connection.close()
    const types = (await rest).map((output) => output.type)
    expect(types.at(-1)).toBe('agent.disconnected')
    expect(types).not.toContain('turn.ended')
  })
})

describe('a parked turn', () => {
  const line = (name: string) => ({ writeFile: { path: 'done.txt', text: `${name}\n` } })
  const script = json(
    { type: 'text', text: 'before' },
    { type: 'permission', name: 'first', effect: line('first') },
    { type: 'text', text: 'between' },
    {
      type: 'parallel',
      calls: [
        { type: 'permission', name: 'second', effect: line('second') },
        { type: 'permission', name: 'third', effect: line('third') },
      ],
    },
    { type: 'text', text: 'after' },
  )
  /** Allows the named tools and never answers requests of other tools. */
  const only = (...names: string[]): Person => ({
    ...silentPerson,
    permit: async ({ tool }) => (names.includes(tool) ? { outcome: 'allowed', requestId: 'req' } : never),
  })
  const said = (outputs: AgentOutput[]) =>
    outputs.flatMap((output) => (output.type === 'text.written' ? [output.text] : []))
  const called = (outputs: AgentOutput[]) =>
    outputs.flatMap((output) => (output.type === 'tool-call.called' ? [output.name] : []))

  async function playTwice(transcripts: () => ScriptedAdapterOptions) {
    const cwd = mkdtempSync(join(scratch, 'parked-'))
    const killed = await createScriptedAdapter(transcripts()).connect(
      connectInput({ cwd, person: only('first', 'third') }),
    )
    await killed.send(promptMessage(script))
    const before = await readUntil(
      killed,
      (output) => output.type === 'tool-call.ended' && output.toolCallId === 'prm.call-5',
    )
    const resumed = await createScriptedAdapter(transcripts()).connect(
      connectInput({ cwd, connectionId: 'con2', resume: { agentSessionId: 'scripted-con', turns: 0 } }),
    )
    await resumed.send(promptMessage(script, 'continue'))
    const after = await readTurn(resumed)
    return { before, after, done: readFileSync(join(cwd, 'done.txt'), 'utf8').trim().split('\n') }
  }

  it('resumes at the first unanswered request and repeats no effect', async () => {
    const folder = mkdtempSync(join(scratch, 'transcript-'))
    const { before, after, done } = await playTwice(() => ({ transcript: fileTranscript(folder) }))
    expect(said(before)).toEqual(['before', 'between'])
    expect(called(after)).toEqual(['second'])
    expect(said(after)).toEqual(['after'])
    expect(done).toEqual(['first', 'third', 'second'])
  })

  it('gives new ids to the calls after the resumption', async () => {
    const folder = mkdtempSync(join(scratch, 'transcript-'))
    const { before, after } = await playTwice(() => ({ transcript: fileTranscript(folder) }))
    const ids = [...before, ...after].flatMap((output) =>
      output.type === 'tool-call.called' ? [output.toolCallId] : [],
    )
    expect(new Set(ids).size).toBe(4)
  })

  it('resumes at its first request if the agent has no transcript', async () => {
    const { after } = await playTwice(() => ({}))
    expect(said(after)).toEqual(['between', 'after'])
    expect(called(after)).toEqual(['first', 'second', 'third'])
  })
})
