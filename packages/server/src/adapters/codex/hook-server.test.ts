import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { folderForFile } from '../../testing/temporary-folder.ts'
import { type CallCheck, HookServer, hookCommand } from './hook-server.ts'
import type { NativeHookCall } from './native-hook.ts'

const folder = folderForFile()
let server: HookServer
beforeEach(async () => {
  server = await HookServer.open()
})
afterEach(() => server.close())

/** Runs the hook as Codex does: only exit status 2 with text on stderr refuses the call. */
async function run(command: string, call: object): Promise<{ refused: boolean; words: string }> {
  const hook = spawn('/bin/sh', ['-c', command])
  hook.stdin.on('error', () => undefined)
  hook.stdin.end(JSON.stringify(call))
  const exit = new Promise<number | null>((resolve) => hook.once('exit', resolve))
  const [words, code] = await Promise.all([text(hook.stderr), exit])
  return { refused: code === 2 && words.trim() !== '', words }
}

const ask = (call: Partial<NativeHookCall>) => run(server.command, { tool_name: 'Bash', ...call })
const yes: CallCheck = async () => undefined
const no =
  (words: string): CallCheck =>
  async () =>
    words

describe('a call before it runs', () => {
  it('is allowed by the session that has the conversation', async () => {
    server.join({ threadId: 'a', sessionId: 'a', check: yes })
    expect(await ask({ session_id: 'a' })).toEqual({ refused: false, words: '' })
  })

  it('is refused if no session has the conversation yet, or if none has it any more', async () => {
    expect(await ask({ session_id: 'a' })).toMatchObject({ refused: true })
    server.join({ threadId: 'a', sessionId: 'a', check: yes })
    server.join({ threadId: 'b', sessionId: 'b', check: yes.bind(undefined) })
    server.leave(yes)
    expect(await ask({ session_id: 'a' })).toMatchObject({ refused: true })
    expect(await ask({ session_id: 'b' })).toMatchObject({ refused: false })
  })

  it('of a subagent is checked by the session that has it, otherwise by all sessions with the same root', async () => {
    server.join({ threadId: 'root', sessionId: 'root', check: yes })
    expect(await ask({ session_id: 'root', agent_id: 'new' })).toMatchObject({ refused: false })
    server.join({ threadId: 'sub', sessionId: 'root', check: no('Not in sub.') })
    expect(await ask({ session_id: 'root' })).toMatchObject({ refused: false })
    for (const agent_id of ['sub', 'new'])
      expect(await ask({ session_id: 'root', agent_id })).toEqual({ refused: true, words: 'Not in sub.' })
    expect(await ask({ session_id: 'other', agent_id: 'new' })).toMatchObject({ refused: true })
  })

  it('is refused if its check gives an empty reason, or fails', async () => {
    server.join({ threadId: 'a', sessionId: 'a', check: no(' ') })
    expect(await ask({ session_id: 'a' })).toMatchObject({ refused: true })
    server.join({ threadId: 'b', sessionId: 'b', check: () => Promise.reject(new Error('odd')) })
    expect(await ask({ session_id: 'b' })).toMatchObject({ refused: true })
  })

  it('is refused if the server is closed before the answer', async () => {
    const asked = Promise.withResolvers<void>()
    const check: CallCheck = () => {
      asked.resolve()
      return new Promise(() => undefined)
    }
    server.join({ threadId: 'a', sessionId: 'a', check })
    const answer = ask({ session_id: 'a' })
    await asked.promise
    await server.close()
    expect(await answer).toMatchObject({ refused: true })
  })

  it('is refused if the hook cannot run, cannot connect, or times out', async () => {
    const hook = fileURLToPath(new URL('./hook-program.ts', import.meta.url))
    const silent = join(folder, 'silent')
    const server = createServer({ allowHalfOpen: true })
    await new Promise<void>((resolve) => server.listen(silent, resolve))
    for (const words of [
      [join(folder, 'no-such-node'), hook, silent, '1000'],
      [process.execPath, join(folder, 'no-such-hook.ts'), silent, '1000'],
      [process.execPath, hook, join(folder, 'no-such-socket'), '1000'],
      [process.execPath, hook, silent, '1'],
    ])
      expect(await run(hookCommand(words), {})).toMatchObject({ refused: true })
    server.close()
  })
})

it('the hook runs in Node, even inside Electron', () => {
  const words = ['/opt/it is/app', 'hook.js']
  const inside = { electron: '40.0.0' }
  expect(hookCommand(words, { platform: 'linux', electron: undefined })).toBe(
    "'/opt/it is/app' 'hook.js' || exit 2",
  )
  expect(hookCommand(words, { platform: 'darwin', ...inside })).toBe(
    "env ELECTRON_RUN_AS_NODE=1 '/opt/it is/app' 'hook.js' || exit 2",
  )
  expect(hookCommand(words, { platform: 'win32', ...inside })).toBe(
    'set "ELECTRON_RUN_AS_NODE=1" && "/opt/it is/app" "hook.js" || exit 2',
  )
})
