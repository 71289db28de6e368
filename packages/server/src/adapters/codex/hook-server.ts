import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { NativeHookCall } from './native-hook.ts'

/** Resolves to the reason for a refusal, or to undefined to allow the call. */
export type CallCheck = (call: NativeHookCall) => Promise<string | undefined>

/** `sessionId` is Codex's own id of the root conversation, to which its subagents belong too. */
export type CheckedThread = {
  readonly threadId: string
  readonly sessionId: string
  readonly check: CallCheck
}

const hookFile = `./hook-program.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`
/**
 * The time limit of the hook in Codex's settings. Codex lets a call run if its hook times out, so the hook
 * gives up earlier (`hookGiveUpMs`) and refuses.
 */
const hookTimeoutS = 60
const hookGiveUpMs = 45_000
const unknownConversation = 'No Parley session uses this conversation.'

/**
 * The server that Codex's hook asks before each call. Codex approves some calls by itself: those that the rules of the
 * person or of a trusted folder allow, and calls of tools that only read. The host's refusals apply to such calls too.
 */
export class HookServer {
  readonly #folder: string
  readonly #server: Server
  readonly #threads = new Set<CheckedThread>()
  readonly #sockets = new Set<Socket>()

  private constructor(folder: string) {
    this.#folder = folder
    this.#server = createServer({ allowHalfOpen: true }, (socket) => void this.#answer(socket))
    this.#server.unref()
  }

  static async open(): Promise<HookServer> {
    const server = new HookServer(await mkdtemp(join(tmpdir(), 'parley-hook-')))
    await new Promise<void>((resolve, reject) => {
      server.#server.once('error', reject)
      server.#server.listen(server.#socket, resolve)
    })
    return server
  }

  get #socket(): string {
    return process.platform === 'win32'
      ? `\\\\.\\pipe\\${this.#folder.split('\\').at(-1)}`
      : join(this.#folder, 'hook')
  }

  get command(): string {
    const program = fileURLToPath(new URL(hookFile, import.meta.url))
    return hookCommand([process.execPath, program, this.#socket, String(hookGiveUpMs)])
  }

  /** The hook in the form of Codex's settings. */
  get hooks(): readonly object[] {
    return [{ matcher: '', hooks: [{ type: 'command', command: this.command, timeout: hookTimeoutS }] }]
  }

  /** A folder without any settings of a person. */
  get folder(): string {
    return this.#folder
  }

  join(thread: CheckedThread): void {
    this.#threads.add(thread)
  }

  /** Removes a check. From then on, all calls of its conversations are refused. */
  leave(check: CallCheck): void {
    for (const thread of this.#threads) if (thread.check === check) this.#threads.delete(thread)
  }

  /** Closes the server. Waiting hooks get no answer and refuse their calls. */
  async close(): Promise<void> {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await rm(this.#folder, { recursive: true, force: true })
  }

  async #answer(socket: Socket): Promise<void> {
    this.#sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => this.#sockets.delete(socket))
    try {
      const call = JSON.parse(await text(socket)) as NativeHookCall
      const deny = await this.#refusal(call)
      socket.end(JSON.stringify(deny === undefined ? {} : { deny }))
    } catch {
      socket.end(JSON.stringify({ deny: 'Parley cannot read this call.' }))
    }
  }

  async #refusal(call: NativeHookCall): Promise<string | undefined> {
    const checks = this.#checksOf(call)
    if (checks.size === 0) return unknownConversation
    for (const check of checks) {
      const deny = await check(call)
      if (deny !== undefined) return deny
    }
    return undefined
  }

  /**
   * The checks of this conversation. For an unknown conversation, the checks of all conversations with the same root.
   */
  #checksOf({ session_id: sessionId, agent_id: agentId }: NativeHookCall): ReadonlySet<CallCheck> {
    const threads = [...this.#threads]
    const own = threads.filter(({ threadId }) => threadId === (agentId ?? sessionId))
    const sameRoot = threads.filter((thread) => thread.sessionId === sessionId)
    return new Set((own.length > 0 ? own : sameRoot).map(({ check }) => check))
  }
}

/**
 * A command line for the shell in which Codex runs hooks. Codex refuses a call only if the hook exits with status 2, so
 * the command line turns every failure of the hook into this status. The variable makes Electron run as Node.
 */
export function hookCommand(
  words: readonly string[],
  { platform, electron }: { platform: NodeJS.Platform; electron: string | undefined } = {
    platform: process.platform,
    electron: process.versions.electron,
  },
): string {
  const isWindows = platform === 'win32'
  const quoted = (word: string) => (isWindows ? `"${word}"` : `'${word.replaceAll("'", `'\\''`)}'`)
  const asNode = isWindows ? 'set "ELECTRON_RUN_AS_NODE=1" && ' : 'env ELECTRON_RUN_AS_NODE=1 '
  return `${electron === undefined ? '' : asNode}${words.map(quoted).join(' ')} || exit 2`
}
