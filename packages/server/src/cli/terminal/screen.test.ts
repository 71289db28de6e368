import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createOutput } from './output.ts'
import { Screen } from './screen.ts'

function screenUnderTest({ invites = true } = {}) {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => stdin })
  const stderr = Object.assign(new PassThrough(), { isTTY: true, columns: 80 })
  const typed: string[] = []
  const streams = {
    stdin: stdin as unknown as NodeJS.ReadStream,
    stdout: stderr as unknown as NodeJS.WriteStream & { fd: 1 },
    stderr: stderr as unknown as NodeJS.WriteStream & { fd: 2 },
  }
  const screen = new Screen({
    ...streams,
    output: createOutput({ ...streams, stdin: streams.stdin as NodeJS.ReadStream & { fd: 0 }, env: {} }),
    onInterrupt: () => {},
    typing: { prompt: '> ', onLine: (line) => typed.push(line), onEnd: () => {} },
  })
  if (invites) screen.invite()
  return {
    screen,
    typed,
    async type(key: string) {
      const pressed = once(stdin, 'keypress')
      stdin.write(key)
      await pressed
    },
    /** The text written since the last call, without cursor movements. */
    drawn: () => stripVTControlCharacters(String(stderr.read() ?? '')),
    written: () => String(stderr.read() ?? ''),
  }
}

describe('a screen with typing while the agent writes', () => {
  it('moves typed text to its own line, and redraws it below new output', async () => {
    const { screen, type, drawn } = screenUnderTest()
    screen.print([{ to: 'out', text: 'The agent wri' }])
    await type('h')
    expect(drawn()).toMatch(/The agent wri\n> h$/)
    await type('i')
    drawn()
    screen.print([{ to: 'out', text: 'tes' }])
    expect(drawn()).toBe('')
    screen.print([{ to: 'out', text: ' on.\nAnd ' }])
    expect(drawn()).toBe('tes on.\n> hi')
    screen.say('parley: a word')
    expect(drawn()).toBe('And \nparley: a word\n> hi')
    screen.close()
  })

  it('shows no prompt before the first invitation', () => {
    const { screen, drawn } = screenUnderTest({ invites: false })
    screen.say('parley: a word')
    expect(drawn()).toBe('parley: a word\n')
    screen.invite()
    expect(drawn()).toBe('> ')
    screen.close()
  })

  it('writes held-back output once the line was sent', async () => {
    const { screen, type, typed, drawn } = screenUnderTest()
    await type('x')
    screen.print([{ to: 'out', text: 'half a li' }])
    drawn()
    await type('\r')
    expect(typed).toEqual(['x'])
    expect(drawn().trim()).toBe('half a li')
    screen.close()
  })

  it('replaces a row only if it was the last output and nothing was typed since', async () => {
    const { screen, type, drawn, written } = screenUnderTest()
    const done = { to: 'err', text: '✓ npm test\n', overRow: true } as const
    screen.print([{ to: 'err', text: '… npm test\n' }])
    drawn()
    screen.print([done])
    expect(written()).toContain('\u001b[1A\u001b[2K✓ npm test')
    screen.print([{ to: 'err', text: '… npm test\n' }])
    await type('x')
    await type('\r')
    drawn()
    screen.print([done])
    expect(written()).not.toContain('\u001b[1A')
    screen.close()
  })
})
