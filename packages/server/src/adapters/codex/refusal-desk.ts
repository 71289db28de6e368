import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { NativeHookCall } from './native.ts'

/** Why a call is refused, or nothing if it is not. */
export type Judge = (call: NativeHookCall) => Promise<string | undefined>

const hookFile = `./refusal-hook.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`
const hookTimeoutS = 60

/**
 * Where Codex's hook asks about each call before it runs. Codex approves some calls by itself: what the rules of the
 * person or of a trusted folder allow, tools that only look. The host's refusals hold for those too.
 */
export class RefusalDesk {
  readonly #folder: string
  readonly #server: Server
  readonly #judges = new Map<string, Judge>()

  private constructor(folder: string) {
    this.#folder = folder
    this.#server = createServer({ allowHalfOpen: true }, (socket) => void this.#answer(socket))
    this.#server.unref()
  }

  static async open(): Promise<RefusalDesk> {
    const desk = new RefusalDesk(await mkdtemp(join(tmpdir(), 'parley-hook-')))
    await new Promise<void>((resolve, reject) => {
      desk.#server.once('error', reject)
      desk.#server.listen(desk.#socket, resolve)
    })
    return desk
  }

  get #socket(): string {
    return process.platform === 'win32'
      ? `\\\\.\\pipe\\${this.#folder.split('\\').at(-1)}`
      : join(this.#folder, 'hook')
  }

  /** The hook as Codex's settings have it. */
  get hooks(): readonly object[] {
    const program = fileURLToPath(new URL(hookFile, import.meta.url))
    const command = [process.execPath, program, this.#socket].map(quoted).join(' ')
    return [{ matcher: '', hooks: [{ type: 'command', command, timeout: hookTimeoutS }] }]
  }

  /** `threadId` is the conversation's; calls of its subagents come with it. */
  join(threadId: string, judge: Judge): void {
    this.#judges.set(threadId, judge)
  }

  leave(threadId: string): void {
    this.#judges.delete(threadId)
  }

  async close(): Promise<void> {
    this.#server.close()
    await rm(this.#folder, { recursive: true, force: true })
  }

  async #answer(socket: Socket): Promise<void> {
    socket.on('error', () => undefined)
    try {
      const call = JSON.parse(await text(socket)) as NativeHookCall
      const deny = await this.#judges.get(call.session_id)?.(call)
      socket.end(JSON.stringify(deny === undefined ? {} : { deny }))
    } catch {
      socket.end(JSON.stringify({ deny: 'Parley does not understand this call.' }))
    }
  }
}

function quoted(word: string): string {
  return process.platform === 'win32' ? `"${word}"` : `'${word.replaceAll("'", `'\\''`)}'`
}
