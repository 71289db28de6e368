import { pino } from 'pino'
import { expect, it } from 'vitest'
import { createScriptedAdapter } from '../adapters/scripted/index.ts'
import type { Script } from '../adapters/scripted/script.ts'
import { createHost } from '../index.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { folderForTest } from '../testing/temporary-folder.ts'
import { logSteps } from './log-steps.ts'

type Line = Readonly<Record<string, unknown>> & { readonly level: number; readonly msg: string }
const levels = { debug: 20, info: 30, warn: 40 }
const secret = 'parsley-and-sage'

/** The log lines of one turn, from the creation of a session to its end. */
async function linesOf(level: string, script: Script): Promise<Line[]> {
  const lines: Line[] = []
  const logger = pino({ level }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const cwd = folderForTest()
  const observer = logSteps(logger)
  const host = await createHost({
    adapters: [createScriptedAdapter()],
    store: createMemoryStore(),
    observer,
  })
  const { id } = await host.create({ agent: 'scripted', cwd, prompt: JSON.stringify(script) })
  for await (const event of host.events(id)) if (event.type === 'turn.ended') break
  await host.close()
  return lines
}

const words: Script = [
  { type: 'thinking', text: secret },
  { type: 'text', text: secret },
  { type: 'tool', name: 'Bash', kind: 'execute', input: { command: secret }, output: [secret] },
]
const error = { code: 'agent_failed', message: `It broke at ${secret}.` } as const
const failure: Script = [...words, { type: 'end', outcome: 'failed', stopReason: 'no_model', error }]

it('the server logs each step of an agent at debug, with names and sizes, without content', async () => {
  const lines = await linesOf('debug', words)
  const steps = lines.filter(({ msg }) => msg.includes('.')).map(({ msg }) => msg)
  expect(steps).toEqual(
    expect.arrayContaining([
      'session.created',
      'agent.connected',
      'turn.started',
      'thinking.written',
      'text.written',
      'tool-call.called',
      'tool-call.ended',
      'turn.ended',
    ]),
  )
  const called = lines.find(({ msg }) => msg === 'tool-call.called')
  const about = { agent: 'scripted', sessionId: expect.stringMatching(/^ses_/), turnId: expect.any(String) }
  expect(called).toMatchObject({ ...about, level: levels.debug, tool: 'Bash', kind: 'execute' })
  expect(lines.find(({ msg }) => msg === 'text.written')).toMatchObject({ length: secret.length })
  expect(JSON.stringify(lines)).not.toContain(secret)
})

it('the server logs a failed turn at info, with its session, agent and reason, without content', async () => {
  const lines = await linesOf('info', failure)
  expect(lines).toEqual([
    expect.objectContaining({
      level: levels.info,
      msg: 'turn failed',
      agent: 'scripted',
      sessionId: expect.stringMatching(/^ses_/),
      outcome: 'failed',
      reason: 'no_model',
      code: 'agent_failed',
    }),
  ])
  expect(JSON.stringify(lines)).not.toContain(secret)
})

it('the server logs "other" for a reason that is not a plain name', async () => {
  const lines = await linesOf('info', [
    { type: 'end', outcome: 'failed', stopReason: `because of ${secret}`, error },
  ])
  expect(lines).toMatchObject([{ reason: 'other' }])
})

it('the server logs the crash of an agent at warn, with its exit code or signal', async () => {
  const lines = await linesOf('warn', [...words, { type: 'crash' }])
  expect(lines).toMatchObject([
    { level: levels.warn, msg: 'agent lost', agent: 'scripted', reason: 'crashed' },
  ])
  expect(JSON.stringify(lines)).not.toContain(secret)
})

it('the server logs nothing at info about a turn that completes', async () => {
  expect(await linesOf('info', words)).toEqual([])
})
