import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { ReaderLimits } from './terminal-readers.ts'
import { createTerminals } from './terminals.ts'

const reader = { show: () => {}, waiting: 0, drop: () => {} }
const eventually = <Value>(look: () => Value) => expect.poll(look, { timeout: 20_000 })

function terminalsIn(env: Record<string, string>, limits: Partial<ReaderLimits> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-terminals-'))
  let made = 0
  const terminals = createTerminals({
    env: { ...process.env, ...env },
    newId: () => `term_${++made}`,
    limits,
  })
  onTestFinished(() => {
    terminals.closeAll()
    rmSync(folder, { recursive: true, force: true })
  })
  return { terminals, folder, start: { sessionId: 'ses_1', folder, cols: 80, rows: 24 } }
}

it('reports the program that runs in a shell, even if it is the same shell', async () => {
  const { terminals, folder, start } = terminalsIn({ SHELL: '/bin/sh' })
  writeFileSync(join(folder, 'wait.sh'), 'read answer\n')
  const { terminalId } = await terminals.open(start)
  const running = () => terminals.list('ses_1')[0]?.running
  const view = terminals.watch(terminalId, reader)
  await eventually(running).toBeUndefined()
  view.input('cat\r')
  await eventually(running).toBe('cat')
  view.input('\u0004')
  await eventually(running).toBeUndefined()
  view.input('/bin/sh wait.sh\r')
  await eventually(running).toBe('sh')
  view.input('\r')
  await eventually(running).toBeUndefined()
})

it('reports the program of a terminal without a shell until it has ended', async () => {
  const { terminals, start } = terminalsIn({})
  const { terminalId } = await terminals.open({ ...start, command: ['cat'] })
  const listed = () => terminals.list('ses_1')[0]
  await eventually(() => listed()?.running).toBe('cat')
  terminals.watch(terminalId, reader).input('\u0004')
  await eventually(() => listed()?.exitCode).toBe(0)
  expect(listed()?.running).toBeUndefined()
})

it('opens no terminal if the session is deleted or the server is closed meanwhile', async () => {
  const { terminals, start } = terminalsIn({})
  const deleted = terminals.open(start)
  const other = terminals.open({ ...start, sessionId: 'ses_2' })
  terminals.removeOf('ses_1')
  await expect(deleted).rejects.toMatchObject({ code: 'cancelled' })
  expect(await other).toMatchObject({ sessionId: 'ses_2' })
  const late = terminals.open(start)
  terminals.closeAll()
  await expect(late).rejects.toMatchObject({ code: 'cancelled' })
})

it("pauses a program that is faster than the server's screen", async () => {
  const kept = 64 * 1024
  const { terminals, folder, start } = terminalsIn({}, { screenBytes: kept })
  // The title shows the progress of the screen. Each step sets it, after redraws that take the screen long to
  // process.
  const redraws = '\u001b[1M\u001b[2J\u001b[1L'.repeat(400)
  const steps = Array.from({ length: 300 }, (_, step) => `${redraws}\u001b]0;${step}\u0007`)
  writeFileSync(join(folder, 'steps'), steps.join(''))
  const command = ['sh', '-c', 'read line; cat steps']
  const { terminalId } = await terminals.open({ ...start, cols: 200, rows: 60, command })
  let received = 0
  let maxBehind = 0
  const { promise: exited, resolve } = Promise.withResolvers<void>()
  const view = terminals.watch(terminalId, {
    ...reader,
    show(frame) {
      if (frame.type === 'exited') resolve()
      if (frame.type !== 'output') return
      received += frame.data.length
      const seen = Number(terminals.list('ses_1')[0]?.title.replace(/\D/g, '') ?? 0)
      maxBehind = Math.max(maxBehind, received - seen * redraws.length)
    },
  })
  view.input('\r')
  await exited
  expect(maxBehind).toBeLessThan(2 * kept)
})
